package pgoutbox_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestO2_RangeThatWasDetached shows a limitation: messages in a range are passed over while the range is
// detached, and are not read when it is attached again. A replay of their numbers sends them.
func TestO2_RangeThatWasDetached(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	s := acquire(t, ob, "")
	require.Empty(t, readAll(t, s, 10))
	putMany(t, ob, 0, 15)
	exec(t, db, "ALTER TABLE leat.outbox DETACH PARTITION leat.outbox_p1")
	require.Len(t, readAll(t, s, 10), 5)
	exec(t, db, "ALTER TABLE leat.outbox ATTACH PARTITION leat.outbox_p1 FOR VALUES FROM (MINVALUE) TO (11)")
	require.Empty(t, readAll(t, s, 10))
	got, _ := replayed(t, ob, pgoutbox.HistoryConfig{ToSeq: 10}, replayConfig())
	require.Len(t, got, 10)
}
