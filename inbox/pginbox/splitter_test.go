package pginbox_test

import (
	"context"
	"net/url"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/testenv"
)

// TestR13_ThroughASplitter: a message whose first delivery has committed is a duplicate, and another
// one with its id is refused, although the standby that answers what only reads knows nothing of
// it yet. Where every SELECT goes to the standby, a delivery fails and says why.
func TestR13_ThroughASplitter(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts servers of its own")
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{"fsync": "off"}})
	standby := server.Standby(t)
	db := server.Database(t, template)
	standby.Pause()
	through := func(pool *pgxpool.Pool) *pginbox.Inbox {
		in, err := pginbox.New(pool, "c", pginbox.Config{Config: inbox.Config{Fingerprint: inbox.FingerprintPayload}})
		require.NoError(t, err)
		return in
	}
	deliver := func(in *pginbox.Inbox, payload string) (inbox.Outcome, error) {
		return in.Process(t.Context(), message.NewMessage("1", []byte(payload)), func(ctx context.Context) error {
			_, err := pginbox.Tx(ctx).Exec(ctx, "INSERT INTO effects VALUES ('1')")
			return err
		})
	}

	balanced := through(testenv.PgPool(t, db, server, standby).Pool)
	for _, want := range []inbox.Outcome{inbox.OutcomeCommitted, inbox.OutcomeDuplicate} {
		got, err := deliver(balanced, "a")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := deliver(balanced, "b")
	require.ErrorIs(t, err, inbox.ErrFingerprintMismatch)

	u, err := url.Parse(db.URL)
	require.NoError(t, err)
	u.Host = faultnet.Splitter{Primary: server.Address(), Standby: standby.Address(), Away: faultnet.ByText}.Listen(t)
	u.RawQuery = "sslmode=disable&default_query_exec_mode=cache_describe"
	pool, err := pgxpool.New(t.Context(), u.String())
	require.NoError(t, err)
	defer pool.Close()
	_, err = deliver(through(pool), "a")
	require.ErrorIs(t, err, pgerr.ErrStandby)
	require.ErrorContains(t, err, "connect leat to the primary itself, past the read/write splitter")
	var effects int
	require.NoError(t, db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM effects").Scan(&effects))
	require.Equal(t, 1, effects)
}
