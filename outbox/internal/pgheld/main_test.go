package pgheld_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgheld"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

func TestMain(m *testing.M) {
	testenv.Main(m)
}

const group = "default"

// migrated is a database with the outbox's tables in it.
func migrated() testenv.Template {
	return testenv.Template{Name: "pgoutbox", Version: testenv.VersionOf(pgoutbox.Migrations(pgoutbox.Config{})), Apply: migrate}
}

func migrate(ctx context.Context, url string) error {
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
}

// bench is a slot's lease with a connection of its own, and its first window.
type bench struct {
	*pgheld.Statements

	t     *testing.T
	db    *testenv.Database
	conn  *pgx.Conn
	lease pgwindow.Lease
	last  int64 // the number of the last record that was held
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return benchOn(t, testenv.Postgres(t, migrated()))
}

func benchOn(t *testing.T, db *testenv.Database) *bench {
	t.Helper()
	names := pgmigrate.Names{Schema: "leat", Table: "outbox"}
	window, err := pgwindow.Prepare(names)
	require.NoError(t, err)
	statements, err := pgheld.Prepare(names, window)
	require.NoError(t, err)
	lease, err := window.Claim(t.Context(), db.Pool, pgwindow.Slot{Group: group}, "owner", pgwindow.Former{}, time.Hour)
	require.NoError(t, err)
	require.NoError(t, window.Start(t.Context(), db.Pool, lease, 0, 1))
	return &bench{statements, t, db, db.Connect(t), lease, 0}
}

// hold holds the next record of key k.
func (b *bench) hold(s *pgheld.Statements, fate driver.Fate) error {
	b.last++
	id, err := ids.New()
	if err != nil {
		return err
	}
	r := outbox.Record{Seq: b.last, CreatedAt: time.Now()}
	r.ID, r.Topic, r.Key, r.Payload = id, "events", "k", []byte(strconv.FormatInt(b.last, 10))
	return s.Hold(b.t.Context(), b.conn, b.lease, pgheld.Position{Last: b.last},
		[]outbox.Record{r}, []driver.Holding{{Fate: fate, Reason: "test"}})
}

// states shows the held records of key k.
func (b *bench) states() []string {
	b.t.Helper()
	var all []string
	require.NoError(b.t, b.db.Pool.QueryRow(b.t.Context(), `
		SELECT coalesce(array_agg(seq || ' ' || state ORDER BY seq), '{}') FROM leat.outbox_held WHERE key = 'k'`).Scan(&all))
	return all
}

func operator() admin.By {
	return admin.By{Actor: "ann", Reason: "test"}
}
