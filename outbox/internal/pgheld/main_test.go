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
	"github.com/leat-go/leat/outbox/internal/pglease"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

//leat:level 1
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

	t      *testing.T
	db     *testenv.Database
	conn   *pgx.Conn
	lease  pglease.Lease
	window *pgwindow.Statements
	last   int64 // the number of the last record that was held
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
	leases, err := pglease.Prepare(names)
	require.NoError(t, err)
	statements, err := pgheld.Prepare(names)
	require.NoError(t, err)
	lease, err := leases.Claim(t.Context(), db.Pool, pglease.Slot{Group: group}, "owner", pglease.Former{}, time.Hour)
	require.NoError(t, err)
	require.NoError(t, window.Start(t.Context(), db.Pool, lease, 0, 1))
	return &bench{statements, t, db, db.Connect(t), lease, window, 0}
}

// to moves the position to row last of the first window.
func (b *bench) to(last int64) pgheld.Advance {
	return b.window.Move(b.lease, 0, last)
}

// hold holds the next record of key k.
func (b *bench) hold(s *pgheld.Statements, fate driver.Fate) error {
	b.last++
	r, err := b.record(b.last)
	if err != nil {
		return err
	}
	return s.Hold(b.t.Context(), b.conn, b.lease, b.to(b.last), []outbox.Record{r}, []driver.Holding{{Fate: fate, Reason: "test"}})
}

// record is that of key k with number seq.
func (b *bench) record(seq int64) (outbox.Record, error) {
	id, err := ids.New()
	r := outbox.Record{Seq: seq, CreatedAt: time.Now()}
	r.ID, r.Topic, r.Key, r.Payload = id, "events", "k", []byte(strconv.FormatInt(seq, 10))
	return r, err
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
