package debezium_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/adopt"
	"github.com/leat-go/leat/outbox/debezium"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// sentAll is what a connector does that has sent all.
const sentAll = "SELECT pg_replication_slot_advance('debezium', pg_current_wal_lsn())"

// walks counts how often the log was walked for what is left.
type walks struct {
	atomic.Int64

	walked chan struct{}
}

func (w *walks) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if !strings.Contains(data.SQL, "pg_logical_slot_peek_binary_changes") {
		return ctx
	}
	w.Add(1)
	return context.WithValue(ctx, walking{}, true)
}

// TraceQueryEnd tells of the end of a walk: until then nobody else can have the slot.
func (w *walks) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	if ctx.Value(walking{}) == nil {
		return
	}
	select {
	case w.walked <- struct{}{}:
	default:
	}
}

// walking marks the context of a walk.
type walking struct{}

// TestAwaitConnector_OfOneThatIsStopped walks the log once, and tells after HandoffConfig.Restart that
// nobody sends the rows that are left; one that comes back in time is waited for.
//
//leat:level 4
func TestAwaitConnector_OfOneThatIsStopped(t *testing.T) {
	t.Parallel()
	db := logical(t).Database(t, migrated())
	exec(t, db, standard)
	exec(t, db, "CREATE PUBLICATION dbz_publication FOR TABLE outbox")
	exec(t, db, createSlot, "debezium")

	stopped, position, seen := leftOver(t, db, time.Millisecond)
	err := stopped.AwaitConnector(t.Context(), position)
	require.ErrorIs(t, err, debezium.ErrConnectorStopped)
	require.ErrorContains(t, err, "2 rows")
	require.EqualValues(t, 1, seen.Load())

	exec(t, db, sentAll)
	returns, position, seen := leftOver(t, db, time.Hour)
	ended := make(chan error, 1)
	go func() { ended <- returns.AwaitConnector(t.Context(), position) }()
	<-seen.walked
	exec(t, db, sentAll)
	require.NoError(t, <-ended)
	require.EqualValues(t, 1, seen.Load())
}

// leftOver is a handoff of a slot with two rows that a connector has not sent, and the position
// behind them.
func leftOver(t *testing.T, db *testenv.Database, restart time.Duration) (*debezium.Handoff, string, *walks) {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(db.URL)
	require.NoError(t, err)
	seen := &walks{walked: make(chan struct{}, 1)}
	cfg.ConnConfig.Tracer = seen
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	slot, err := debezium.NewSlot(pool, debezium.SlotConfig{})
	require.NoError(t, err)
	table, err := adopt.New(pool, standardTable())
	require.NoError(t, err)
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	require.NoError(t, err)
	h, err := debezium.NewHandoff(ob, slot, debezium.HandoffConfig{
		Table: table, Poll: time.Millisecond, Restart: restart, Actor: "a test", Reason: "wait",
	})
	require.NoError(t, err)
	_, err = h.Prepare(t.Context())
	require.NoError(t, err)
	exec(t, db, insert, "order", "1")
	exec(t, db, insert, "order", "2")
	position, err := slot.Mark(t.Context())
	require.NoError(t, err)
	seen.Store(0) // Prepare has looked, too
	select {
	case <-seen.walked:
	default:
	}
	return h, position, seen
}
