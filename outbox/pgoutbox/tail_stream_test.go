package pgoutbox

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglog"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

func lonelyTail(logged *bytes.Buffer) *tail {
	source := &Source{ // its bells are ready
		ob: &Outbox{cfg: Config{Logger: slog.New(slog.NewTextHandler(logged, nil))}},
	}
	return &tail{log: &slotLog{source: source}, cfg: TailConfig{MaxRows: 100}}
}

func tailRowOf(seq int64) pglog.Row { return pglog.Row{Record: outbox.Record{Seq: seq}, XID: 20} }

// TestTail_Overdue: a row that arrives late, but in time, is not overdue; one that does not arrive in time
// is.
func TestTail_Overdue(t *testing.T) {
	t.Parallel()
	s := newTailStream(lonelyTail(&bytes.Buffer{}), nil, "")
	began := time.Now()
	require.Zero(t, s.owe([]int64{1, 2}, began, time.Second))
	require.Zero(t, s.owe(nil, began.Add(999*time.Millisecond), time.Second))
	require.NoError(t, s.add(tailRowOf(1), 1))
	require.Equal(t, 1, s.owe(nil, began.Add(time.Second), time.Second))
	require.NoError(t, s.add(tailRowOf(2), 1))
	require.Zero(t, s.owe(nil, began.Add(2*time.Second), time.Second))
}

// TestTail_BytesWaiting: rows that were taken no longer count, headers included.
func TestTail_BytesWaiting(t *testing.T) {
	t.Parallel()
	target, err := pgwindow.ParseSnapshot("10:10:")
	require.NoError(t, err)
	s := newTailStream(lonelyTail(&bytes.Buffer{}), nil, "")
	for seq := range int64(3) {
		require.NoError(t, s.add(tailRowOf(seq), 1000))
	}
	require.NoError(t, s.Commit())
	_, _ = s.Take(target, 2)
	require.Equal(t, 1000, s.bytes)
}

// TestTail_Tells: a reason is logged once. It is logged again after a tail has followed, but not after the
// relay has merely worked without a tail for a while.
func TestTail_Tells(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	tail := lonelyTail(&logged)
	warnings := func() int { return strings.Count(logged.String(), "level=WARN") }
	reason := driver.TailEvent{Err: errors.New("no slot")}
	for _, step := range []struct {
		event driver.TailEvent
		want  int
	}{
		{reason, 1}, {reason, 1}, {driver.TailEvent{Err: context.Canceled}, 1}, {reason, 1}, {driver.TailEvent{Follows: true}, 1}, {reason, 2},
	} {
		tail.tell(t.Context(), step.event)
		require.Equal(t, step.want, warnings())
	}
}
