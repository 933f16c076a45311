package twotier_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/twotier"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/testenv"
)

// tiers are an inbox in PostgreSQL with a cache, and the forbidden form of it,
// whose scope is always the same.
type tiers struct {
	in               *pginbox.Inbox
	scoped, unscoped inbox.Runner
}

func newTiers(t *testing.T, db *testenv.Database) tiers {
	t.Helper()
	in, err := pginbox.New(db.Pool, "tester", pginbox.Config{})
	require.NoError(t, err)
	require.NoError(t, in.Migrate(t.Context()))
	scoped, err := twotier.New(in.Processor, twotier.Config{Scope: in.Scope})
	require.NoError(t, err)
	forever := func(context.Context) (string, error) { return "for ever", nil }
	unscoped, err := twotier.New(in.Processor, twotier.Config{Scope: forever})
	require.NoError(t, err)
	return tiers{in, scoped, unscoped}
}

// deliver delivers id. Lossy makes the commit one that does not wait for the
// disk, as an asynchronous standby does not.
func deliver(t *testing.T, p inbox.Runner, id string, lossy bool) inbox.Outcome {
	t.Helper()
	outcome, err := p.Process(t.Context(), message.NewMessage(id, nil), func(ctx context.Context) error {
		if !lossy {
			return nil
		}
		_, err := pginbox.Tx(ctx).Exec(ctx, "SET LOCAL synchronous_commit = off")
		return err
	})
	require.NoError(t, err)
	return outcome
}

// TestI9_ServersThatLoseCommits crashes a server that has acknowledged what it
// has not written: what the caches remember of it is not a reason for a skip. Then
// the server becomes a standby and is promoted.
//
//leat:level 4
func TestI9_ServersThatLoseCommits(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts a server of its own")
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{
		"wal_writer_delay": "10s", "autovacuum": "off", "fsync": "off",
	}})
	db := server.Database(t)
	p := newTiers(t, db)
	crash(t, server, db, p)
	promote(t, server, db, p)
}

// crash repeats itself where the server has written its log after all.
func crash(t *testing.T, server *testenv.PostgresServer, db *testenv.Database, p tiers) {
	t.Helper()
	for round := range 20 {
		ours, forbidden := "ours "+strconv.Itoa(round), "forbidden "+strconv.Itoa(round)
		deliver(t, p.scoped, "warm", false) // a synchronous commit, after which nothing is flushed
		require.Equal(t, inbox.OutcomeCommitted, deliver(t, p.scoped, ours, true))
		require.Equal(t, inbox.OutcomeCommitted, deliver(t, p.unscoped, forbidden, true))
		server.Restart("immediate")
		db.Pool.Reset()
		var kept int
		require.NoError(t, db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM leat.inbox").Scan(&kept))
		if kept > 1 { // the log was written
			_, err := db.Pool.Exec(t.Context(), "DELETE FROM leat.inbox WHERE ctid <> '(0,1)'")
			require.NoError(t, err)
			continue
		}
		require.Equal(t, inbox.OutcomeDuplicate, deliver(t, p.unscoped, forbidden, false),
			"negative control: its commit was lost, and so is the message")
		require.Equal(t, inbox.OutcomeCommitted, deliver(t, p.scoped, ours, false))
		require.Equal(t, inbox.OutcomeDuplicate, deliver(t, p.scoped, ours, false))
		return
	}
	require.Fail(t, "no crash lost a commit")
}

// promote makes a new timeline.
func promote(t *testing.T, server *testenv.PostgresServer, db *testenv.Database, p tiers) {
	t.Helper()
	before, err := p.in.Scope(t.Context())
	require.NoError(t, err)
	same, err := p.in.Scope(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, same)
	var dir string
	require.NoError(t, db.Pool.QueryRow(t.Context(), "SHOW data_directory").Scan(&dir))
	server.Stop("fast")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "standby.signal"), nil, 0o666))
	server.Start()
	db.Pool.Reset()
	_, err = p.in.Scope(t.Context())
	require.ErrorIs(t, err, pgerr.ErrStandby)
	_, err = db.Pool.Exec(t.Context(), "SELECT pg_promote(true, 60)")
	require.NoError(t, err)
	after, err := p.in.Scope(t.Context())
	require.NoError(t, err)
	timeline := func(scope string) string { return strings.Split(scope, ":")[1] }
	require.NotEqual(t, timeline(before), timeline(after), "%s, then %s", before, after)
	require.Equal(t, inbox.OutcomeDuplicate, deliver(t, p.scoped, "warm", false), "by the inbox, which has kept it")
}
