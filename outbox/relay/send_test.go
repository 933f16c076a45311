package relay_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

// TestO5_OnlyWhatFailedIsSentAgain: only records that failed are sent again, in the same order. The
// position follows the records before the first failure.
func TestO5_OnlyWhatFailedIsSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(8)
		var settled []int
		sink := &fakeSink{}
		sink.answer = func(ctx context.Context, n int, records []outbox.Record) []outbox.Result {
			settled = append(settled, log.settled())
			results := acked(ctx, time.Millisecond, records)
			fail := map[int][]int{1: {2, 5, 6}, 2: {0, 2}, 3: {1}}[n]
			for _, i := range fail {
				results[i] = outbox.NotSent()
			}
			return results
		}
		run := start(t, log.source(), sink, relay.Config{PageSize: 8})
		elapse(t, time.Minute)
		calls := sink.called()
		require.Len(t, calls, 4)
		require.Equal(t, ids(8), calls[0].ids)
		require.Equal(t, []string{"3", "6", "7"}, calls[1].ids)
		require.Equal(t, []string{"3", "7"}, calls[2].ids)
		require.Equal(t, []string{"7"}, calls[3].ids)
		require.Equal(t, []int{0, 2, 2, 6}, settled, "never past a record that was not acknowledged")
		require.Equal(t, 8, log.settled())
		_, err := run.stop()
		require.NoError(t, err)
		clean(t, log)
	})
}

// TestO12_WrongNumberOfResults: a wrong number of results acknowledges nothing.
func TestO12_WrongNumberOfResults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, hook := newFakeLog(3), &recorder{}
		sink := &fakeSink{answer: func(_ context.Context, n int, records []outbox.Record) []outbox.Result {
			switch n {
			case 1:
				return nil
			case 2:
				return make([]outbox.Result, len(records)-1)
			case 3:
				return make([]outbox.Result, len(records)+1)
			default:
				require.Zero(t, log.settled())
				return make([]outbox.Result, len(records))
			}
		}}
		run := start(t, log.source(), sink, relay.Config{Hooks: []outbox.Hook{hook}})
		elapse(t, time.Minute)
		_, err := run.stop()
		require.NoError(t, err)
		require.Equal(t, slices.Concat(ids(3), ids(3), ids(3), ids(3)), sink.sent())
		require.Len(t, hook.errors["send"], 3)
		require.ErrorContains(t, hook.errors["send"][1], "2 results for 3 records")
		require.Equal(t, 3, log.settled())
		clean(t, log)
	})
}

// TestO5_OnePageAtATime: a page is sent only when the one before it is acknowledged, however many pages
// were read ahead.
func TestO5_OnePageAtATime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		readAhead int
		want      int64
	}{
		"none":    {relay.NoReadAhead, 1},
		"default": {0, 3}, // one page in the queue, one in the reader's hand, one being sent
		"most":    {64, 66},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				log := newFakeLog(100)
				src := log.source()
				var reads atomic.Int64
				src.read = func(context.Context) error {
					reads.Add(1)
					return nil
				}
				first := make(chan struct{})
				sink := &fakeSink{answer: func(ctx context.Context, n int, records []outbox.Record) []outbox.Result {
					if n == 1 {
						<-first
					}
					return acked(ctx, 0, records)
				}}
				run := start(t, src, sink, relay.Config{PageSize: 1, ReadAhead: c.readAhead})
				synctest.Wait()
				require.Len(t, sink.called(), 1)
				require.Equal(t, c.want, reads.Load())
				close(first)
				elapse(t, time.Minute)
				require.Equal(t, ids(100), sink.sent())
				_, err := run.stop()
				require.NoError(t, err)
				clean(t, log)
			})
		})
	}
}

// TestO12_ReadErrorKeepsWhatWasAcked: if the source fails while a page is being sent, the relay waits for
// that page and settles it. Pages behind it are not sent.
func TestO12_ReadErrorKeepsWhatWasAcked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(3)
		src := log.source()
		src.failRead(3, 500*time.Millisecond) // while the first page is being sent
		src.acquire = func() error {
			if len(src.attempts()) == 2 {
				require.Equal(t, 1, log.settled())
			}
			return nil
		}
		sink := takesAll(time.Second)
		run := start(t, src, sink, relay.Config{PageSize: 1})
		elapse(t, time.Minute)
		_, err := run.stop()
		require.NoError(t, err)
		require.Equal(t, ids(3), sink.sent(), "none twice")
		require.Len(t, src.attempts(), 2)
		clean(t, log)
	})
}

// TestPageBytes: pages of large records are smaller.
func TestPageBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(3000)
		for i := range log.records {
			log.records[i].Payload = make([]byte, 1<<10)
		}
		src, sink := log.source(), takesAll(0)
		run := start(t, src, sink, relay.Config{PageBytes: 100 << 10})
		elapse(t, time.Minute)
		_, err := run.stop()
		require.NoError(t, err)
		calls := sink.called()
		require.LessOrEqual(t, len(calls[0].ids), 500, "the first page does not know yet")
		for _, c := range calls[1:] {
			require.LessOrEqual(t, len(c.ids), 100)
		}
		require.Equal(t, ids(3000), sink.sent())
		clean(t, log)
	})
}
