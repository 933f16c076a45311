package natssink_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/natssink"
)

// TestO2_FailurePointOfSending has everything happen before a round is written, and before its answers are awaited.
// What failed is sent again, as a relay does: nothing is lost, and each key comes in order.
func TestO2_FailurePointOfSending(t *testing.T) {
	t.Parallel()
	address := startServer(t).HostPort
	for name, action := range map[string]func(l *faultnet.Lines, end func()) failpointtest.Action{
		"error":  func(*faultnet.Lines, func()) failpointtest.Action { return failpointtest.Error(nil) },
		"panic":  func(*faultnet.Lines, func()) failpointtest.Action { return failpointtest.Panic() },
		"cancel": func(_ *faultnet.Lines, end func()) failpointtest.Action { return failpointtest.Cancel(end) },
		"cut": func(l *faultnet.Lines, _ func()) failpointtest.Action {
			return failpointtest.Call(func(context.Context) error { l.Cut(); return nil })
		},
	} {
		for hit := 1; hit <= 2; hit++ {
			t.Run(fmt.Sprint(name, "/", hit), func(t *testing.T) {
				t.Parallel()
				lines, points := &faultnet.Lines{}, &failpointtest.Registry{}
				b := newStreams(t, address, fmt.Sprint(name, hit))
				all := records(b.Topics()[0], 20, 3)
				s := newSink(t, urlOf(address, "writer"), natssink.Config{Dial: lines.Dial})
				ctx, end := context.WithCancel(failpointtest.With(within(t), points))
				defer end()
				require.NoError(t, points.EnableAt(failpoint.RelayMidBatch, hit, action(lines, end)))

				left := rest(all, sendThrough(ctx, t, s, all))
				require.NotEmpty(t, left)
				require.Equal(t, map[string]int{"ok": len(left)}, kinds(s.Send(within(t), left)))
				require.GreaterOrEqual(t, points.Hits(failpoint.RelayMidBatch), hit)
				requireOrder(t, b, all)
			})
		}
	}
}

// sendThrough sends. A call that panics has delivered nothing for certain.
func sendThrough(ctx context.Context, t *testing.T, s *natssink.Sink, all []outbox.Record) (results []outbox.Result) {
	t.Helper()
	defer func() {
		if what := recover(); what != nil {
			require.Contains(t, what, "failpoint: ")
			results = make([]outbox.Result, len(all))
			for i := range results {
				results[i] = outbox.NotSent()
			}
		}
	}()
	return s.Send(ctx, all)
}

// requireOrder: all has arrived; if copies are left out, each key in order.
func requireOrder(t *testing.T, b *streams, all []outbox.Record) {
	t.Helper()
	arrived, err := b.Arrived(t.Context(), b.Topics()[0])
	require.NoError(t, err)
	want, got, seen := map[string][]string{}, map[string][]string{}, map[string]bool{}
	for i := range all {
		want[all[i].Key] = append(want[all[i].Key], all[i].ID)
	}
	for i := range arrived {
		if m := &arrived[i]; !seen[m.ID] {
			seen[m.ID] = true
			got[m.Key] = append(got[m.Key], m.ID)
		}
	}
	require.Equal(t, want, got, fmt.Sprint(len(arrived), " arrived"))
}
