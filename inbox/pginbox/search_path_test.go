package pginbox_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	outboxadmin "github.com/leat-go/leat/outbox/admin"
)

// TestS12_FunctionsOfStrangers: what others have created in a schema of the search path is
// called by nobody: Migrate, consumers, maintenance and operators.
func TestS12_FunctionsOfStrangers(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	testenv.Strangers(t, db)
	in, err := pginbox.New(db.Pool, "c", pginbox.Config{Config: inbox.Config{
		OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 2, Delay: inbox.NoDelay},
	}})
	require.NoError(t, err)
	require.NoError(t, in.Migrate(t.Context()))
	for _, id := range []string{"a", "b"} {
		for range 3 {
			msg := message.NewMessage(id, nil)
			msg.Metadata.Set("leat_key", "k"+id)
			_, err = in.Process(t.Context(), msg, func(context.Context) error { return errors.New("cannot") })
		}
		require.NoError(t, err)
	}
	ad, err := pginbox.NewAdmin(db.Pool, pginbox.Config{})
	require.NoError(t, err)
	parked, err := ad.Parked(t.Context(), admin.ParkedQuery{Consumer: "c"})
	require.NoError(t, err)
	require.Len(t, parked, 2)
	by := outboxadmin.By{Actor: "ann", Reason: "fixed"}
	_, err = ad.Redrive(t.Context(), admin.ChangeRequest{By: by, Consumer: "c", Selection: admin.Selection{ID: parked[0].ID}})
	require.NoError(t, err)
	_, err = ad.Drop(t.Context(), admin.ChangeRequest{By: by, Consumer: "c", Selection: admin.Selection{ID: parked[1].ID}})
	require.NoError(t, err)
	_, err = ad.Consumers(t.Context(), admin.ConsumersQuery{})
	require.NoError(t, err)

	m, err := pginbox.NewMaintenance(db.Pool, pginbox.Config{}, pginbox.MaintenanceConfig{Retention: 30 * day, Width: day})
	require.NoError(t, err)
	require.NoError(t, m.Enable(t.Context()))
	_, err = m.RunOnce(t.Context())
	require.NoError(t, err)
	testenv.RequireNotCalled(t, db)
}
