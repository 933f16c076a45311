package pgoutbox_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

func TestMain(m *testing.M) {
	testenv.Main(m)
}

// migrated is the database that most tests start from.
func migrated() testenv.Template {
	return testenv.Template{Name: "pgoutbox", Version: "1", Apply: func(ctx context.Context, url string) error {
		pool, err := pgxpool.New(ctx, url)
		if err != nil {
			return err
		}
		defer pool.Close()
		ob, err := pgoutbox.New(pool, pgoutbox.Config{})
		if err != nil {
			return err
		}
		return ob.Migrate(ctx)
	}}
}

// newOutbox returns an outbox in a database of its own.
func newOutbox(t *testing.T, cfg pgoutbox.Config) (*pgoutbox.Outbox, *testenv.Database) {
	t.Helper()
	db := testenv.Postgres(t, migrated())
	ob, err := pgoutbox.New(db.Pool, cfg)
	require.NoError(t, err)
	return ob, db
}

// acquire starts a session of group.
func acquire(t *testing.T, ob *pgoutbox.Outbox, group string) relay.Session {
	t.Helper()
	src, err := ob.Source(pgoutbox.SourceConfig{Group: group})
	require.NoError(t, err)
	s, err := src.Acquire(t.Context(), testLease)
	require.NoError(t, err)
	return s
}

// readAll reads and settles pages of limit until nothing is left.
func readAll(t *testing.T, s relay.Session, limit int) []outbox.Record {
	t.Helper()
	var all []outbox.Record
	for {
		page, err := s.Read(t.Context(), limit)
		require.NoError(t, err)
		require.False(t, page.Waiting)
		if len(page.Records) == 0 {
			return all
		}
		all = append(all, page.Records...)
		require.NoError(t, s.Advance(t.Context(), page, len(page.Records)))
	}
}
