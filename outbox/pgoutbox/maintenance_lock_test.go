package pgoutbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestO2_NobodyWaitsForARangeWithTheLogLocked: while another session reads a range by its own name,
// maintenance gives up at once, since it blocks all producers at that point.
func TestO2_NobodyWaitsForARangeWithTheLogLocked(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	cfg := small()
	cfg.LockTimeout = time.Minute // longer than this test waits
	m := maintenance(t, ob, cfg)
	putMany(t, ob, 0, 12)
	settle(t, acquire(t, ob, ""))
	first := admin.Range{Table: "outbox_p1", From: 1, To: 11}
	for table, change := range map[string]func(context.Context) error{
		"outbox_p1":   func(ctx context.Context) error { return pgoutbox.DropOnce(ctx, m, first) },
		"outbox_tail": func(ctx context.Context) error { return pgoutbox.ExtendOnce(ctx, m) },
	} {
		reader := begin(t, ob, db).exec("LOCK TABLE leat." + table + " IN ACCESS SHARE MODE")
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		err := change(ctx)
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, table)
		require.Equal(t, pgerr.LockNotAvailable, refused.Code, table)
		require.NotContains(t, refused.Message, "timeout", table)
		reader.rollback()
		require.NoError(t, change(ctx), table)
		cancel()
	}
}
