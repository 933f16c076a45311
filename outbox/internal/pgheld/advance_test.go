package pgheld_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgheld"
)

var errGap = errors.New("the position has a gap")

// offsets are positions of a source without windows: one number a group.
type offsets struct {
	to, stored int64
}

// newOffsets stores position 0 of the bench's group.
func newOffsets(t *testing.T, b *bench) {
	t.Helper()
	_, err := b.db.Pool.Exec(t.Context(), "CREATE TABLE offsets (relay_group text, n bigint CHECK (n <> 13))")
	require.NoError(t, err)
	_, err = b.db.Pool.Exec(t.Context(), "INSERT INTO offsets VALUES ($1, 0)", group)
	require.NoError(t, err)
}

func (o *offsets) QueueLook(batch *pgx.Batch) {
	batch.Queue("SELECT n FROM offsets WHERE relay_group = $1", group).QueryRow(func(row pgx.Row) error { return row.Scan(&o.stored) })
}

func (o *offsets) QueueMove(batch *pgx.Batch) (bool, error) {
	switch {
	case o.to <= o.stored:
		return false, nil
	case o.to > o.stored+1 && o.to != 13:
		return false, errGap
	}
	batch.Queue("UPDATE offsets SET n = $2 WHERE relay_group = $1", group, o.to)
	return true, nil
}

// TestO2_HoldMovesAnyPosition: a source needs no windows to set records aside. Its
// position moves with them, or nothing is stored.
func TestO2_HoldMovesAnyPosition(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	newOffsets(t, b)
	hold := func(seq, to int64) error {
		r, err := b.record(seq)
		require.NoError(t, err)
		return b.Hold(t.Context(), b.conn, b.lease, &offsets{to: to}, []outbox.Record{r}, []driver.Holding{{Fate: driver.FatePark, Reason: "test"}})
	}
	position := func() (n int64) {
		require.NoError(t, b.db.Pool.QueryRow(t.Context(), "SELECT n FROM offsets").Scan(&n))
		return n
	}
	require.NoError(t, hold(1, 1))
	require.EqualValues(t, 1, position())
	require.NoError(t, hold(2, 1), "the answer was lost")
	require.ErrorIs(t, hold(3, 3), errGap)
	var refused *pgconn.PgError
	require.ErrorAs(t, hold(4, 13), &refused, "the move fails in the database")
	require.Equal(t, byte('I'), b.conn.PgConn().TxStatus(), "the connection is free again")
	require.EqualValues(t, 1, position())
	require.Equal(t, []string{"1 parked"}, b.states())
	require.NoError(t, hold(2, 2))
	require.EqualValues(t, 2, position())
}

// roundTrips counts what a connection waits for an answer of.
type roundTrips int

// TraceBatchStart counts a batch.
func (n *roundTrips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	*n++
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (*roundTrips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (*roundTrips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// TraceQueryStart counts a statement of its own.
func (n *roundTrips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	*n++
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (*roundTrips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestO15_RoundTrips: whatever moves the position, to hold records is to begin, to write
// and to commit; to resolve them likewise.
func TestO15_RoundTrips(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	newOffsets(t, b)
	var n roundTrips
	cfg, err := pgx.ParseConfig(b.db.URL)
	require.NoError(t, err)
	cfg.Tracer = &n
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) })
	for name, to := range map[string]func(int64) pgheld.Advance{
		"a window": b.to,
		"a number": func(to int64) pgheld.Advance { return &offsets{to: to} },
	} {
		b.last++
		r, err := b.record(b.last)
		require.NoError(t, err)
		n = 0
		page, parked := []outbox.Record{r}, []driver.Holding{{Fate: driver.FatePark, Reason: "test"}}
		at := map[string]int64{"a window": b.last, "a number": 1}[name]
		require.NoError(t, b.Hold(t.Context(), conn, b.lease, to(at), page, parked))
		require.EqualValues(t, 3, n, name)
		n = 0
		require.NoError(t, b.Hold(t.Context(), conn, b.lease, to(at), page, parked))
		require.EqualValues(t, 2, n, "%s: there already, begun and rolled back", name)
	}
	n = 0
	_, err = b.Resolve(t.Context(), conn, b.lease, []driver.Verdict{{Record: record(1), Fate: driver.FateDelivered}})
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
}
