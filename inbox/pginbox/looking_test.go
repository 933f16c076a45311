package pginbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// TestLookingRegistersNobody: what an operator asks of a misspelt consumer is an error
// that has its name, and leaves no consumer behind.
func TestLookingRegistersNobody(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, template)
	in, err := pginbox.New(db.Pool, "typo", pginbox.Config{Config: inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park}}})
	require.NoError(t, err)
	by, sel := somebody, admin.Selection{ID: "a"}
	for name, look := range map[string]func() error{
		"Parked": func() error { _, err := in.Parked(t.Context(), admin.ParkedQuery{}); return err },
		"Audit":  func() error { _, err := in.Audit(t.Context(), admin.AuditQuery{}); return err },
		"Redrive": func() error {
			_, err := in.Redrive(t.Context(), admin.RedriveRequest{By: by, Selection: sel})
			return err
		},
		"Drop": func() error { _, err := in.Drop(t.Context(), admin.DropRequest{By: by, Selection: sel}); return err },
		"SkipHead": func() error {
			_, err := in.SkipHead(t.Context(), admin.SkipHeadRequest{By: by, Key: "k"})
			return err
		},
		"PruneAttempts": func() error { _, err := in.PruneAttempts(t.Context(), time.Hour, 1); return err },
		"PruneNotes":    func() error { _, err := in.PruneNotes(t.Context(), time.Hour, 1); return err },
		"PruneAudit":    func() error { _, err := in.PruneAudit(t.Context(), 48*time.Hour, 1); return err },
	} {
		err := look()
		require.ErrorIs(t, err, admin.ErrUnknownConsumer, name)
		require.ErrorContains(t, err, `"typo"`, name)
	}
	var n int
	require.NoError(t, db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM leat.inbox_consumers`).Scan(&n))
	require.Zero(t, n)
}

// TestLookingNeedsSelect: and no other privilege.
func TestLookingNeedsSelect(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, template)
	in := newShop(t, db.Pool)
	_, err := in.Process(t.Context(), delivery(t.Context(), "a"), nothing)
	require.NoError(t, err)
	reader := newShop(t, roleWith(t, db, grants("SELECT", "_consumers", "_parked", "_audit"), ""))
	_, err = reader.Parked(t.Context(), admin.ParkedQuery{})
	require.NoError(t, err)
	_, err = reader.Audit(t.Context(), admin.AuditQuery{})
	require.NoError(t, err)
}
