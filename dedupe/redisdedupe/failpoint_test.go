package redisdedupe_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/redisdedupe"
	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/internal/wait"
)

// fault is what happens at a point, and how often the handler may run for it.
type fault struct {
	name   string
	point  failpoint.Name
	action func(t *testing.T, s subject, k dedupe.Key) failpointtest.Action
	runs   []int
}

// touch is an action that changes Redis behind the run's back.
func touch(change func(ctx context.Context) error) failpointtest.Action {
	return failpointtest.Call(change)
}

func fails(*testing.T, subject, dedupe.Key) failpointtest.Action { return failpointtest.Error(nil) }

func loses(_ *testing.T, s subject, k dedupe.Key) failpointtest.Action {
	return touch(func(ctx context.Context) error { return s.Lose(ctx, k) })
}

// jumps changes what the key has left, to which nothing but a clock can.
func jumps(left time.Duration) func(*testing.T, subject, dedupe.Key) failpointtest.Action {
	return func(_ *testing.T, s subject, k dedupe.Key) failpointtest.Action {
		return touch(func(ctx context.Context) error {
			keys, err := s.client.Keys(ctx, s.prefix+"*:"+k.ID).Result()
			if err != nil || len(keys) == 0 {
				return err
			}
			return s.client.PExpire(ctx, keys[0], left).Err()
		})
	}
}

// pauses goes on when the lease has ended, or another one has taken over.
func pauses(takeover bool) func(*testing.T, subject, dedupe.Key) failpointtest.Action {
	return func(t *testing.T, s subject, k dedupe.Key) failpointtest.Action {
		t.Helper()
		return touch(func(context.Context) error {
			for {
				c, err := s.Claim(t.Context(), k, dedupe.Request{Token: "zombie", Lease: 50 * time.Millisecond})
				if err != nil || c.Status == dedupe.Claimed {
					if err == nil && !takeover {
						err = s.Lose(t.Context(), k)
					}
					return err
				}
				if err := wait.For(t.Context(), min(max(c.Remaining, time.Millisecond), 20*time.Millisecond)); err != nil {
					return err
				}
			}
		})
	}
}

func faults() []fault {
	return []fault{
		{"answer lost", failpoint.DedupeClaimReplyLost, fails, []int{1}},
		{"record lost", failpoint.DedupeLoseP, loses, []int{1}},
		{"failure", failpoint.DedupeLoseP, fails, []int{1}},
		{"evicted", failpoint.DedupeEvict, loses, []int{1}},
		{"clock back", failpoint.DedupeClockJump, jumps(200_000 * time.Hour), []int{1}},
		{"clock ahead", failpoint.DedupeClockJump, jumps(time.Millisecond), []int{1, 2}},
		{"no extension", failpoint.DedupeExtendFail, fails, []int{2}},
		{"lease over", failpoint.DedupePausePastLease, pauses(false), []int{1}},
		{"taken over", failpoint.DedupePausePastLease, pauses(true), []int{2}},
		{"failure after the effect", failpoint.DedupePausePastLease, fails, []int{2}},
		{"answer lost", failpoint.DedupeCompleteReplyLost, fails, []int{1}},
		{"record lost", failpoint.DedupeLoseD, loses, []int{1, 2}},
		{"failure", failpoint.DedupeLoseD, fails, []int{1}},
	}
}

// TestD6_D8_FailurePoints fires every point once on a real Redis. The message is
// delivered until it is acknowledged, and once more: it has run, and not more
// often than the fault excuses.
func TestD6_D8_FailurePoints(t *testing.T) {
	t.Parallel()
	for _, f := range faults() {
		t.Run(string(f.point)+"/"+f.name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, redisdedupe.Config{})
			p, err := dedupe.New(s, "c", dedupe.Config{Lease: 300 * time.Millisecond, BusyDelay: 10 * time.Millisecond})
			require.NoError(t, err)
			k, points, runs := dedupe.Key{Consumer: "c", ID: "m"}, &failpointtest.Registry{}, 0
			require.NoError(t, points.EnableAt(f.point, 1, f.action(t, s, k)))
			if f.point == failpoint.DedupePausePastLease { // what is paused extends nothing
				require.NoError(t, points.Enable(failpoint.DedupeExtendFail, failpointtest.Error(nil)))
			}
			handle := func(ctx context.Context) ([]byte, error) {
				if runs++; runs > 1 || f.point != failpoint.DedupeExtendFail {
					return nil, nil
				}
				// Every extension of this run fails: its context ends.
				require.NoError(t, points.Enable(f.point, failpointtest.Error(nil)))
				<-ctx.Done()
				points.Disable(f.point)
				return nil, context.Cause(ctx)
			}
			ctx, cancel := context.WithTimeout(failpointtest.With(t.Context(), points), time.Minute)
			defer cancel()
			for acked := false; !acked; {
				_, err := p.Do(ctx, dedupe.Message{ID: "m"}, handle)
				acked = err == nil
				require.NoError(t, ctx.Err())
			}
			require.NotZero(t, points.Hits(f.point))
			require.Contains(t, f.runs, runs, "runs until the message was acknowledged")
			_, err = p.Do(ctx, dedupe.Message{ID: "m"}, handle)
			require.NoError(t, err)
			require.Contains(t, f.runs, runs, "runs after a repeat")
		})
	}
}
