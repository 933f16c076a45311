package redisdedupe_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/redisdedupe"
	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/testenv"
)

// payment is a message that is delivered until it is acknowledged, while something
// happens.
type payment struct {
	t      *testing.T
	p      *dedupe.Processor
	line   *faultnet.Lines // to Redis
	points *failpointtest.Registry
	cancel context.CancelFunc // of the delivery under way
	point  failpoint.Name
	runs   int // that have come to their end
	cuts   int // connections
}

const paymentLease = 300 * time.Millisecond

func newPayment(t *testing.T, point failpoint.Name) *payment {
	t.Helper()
	env := testenv.Redis(t)
	l := &faultnet.Lines{}
	client := redis.NewClient(&redis.Options{Addr: env.Addr, Dialer: l.Dial})
	t.Cleanup(func() { _ = client.Close() })
	store, err := redisdedupe.New(client, redisdedupe.Config{Prefix: env.Prefix})
	require.NoError(t, err)
	p, err := dedupe.New(store, "c", dedupe.Config{Lease: paymentLease, BusyDelay: 10 * time.Millisecond})
	require.NoError(t, err)
	return &payment{t: t, p: p, line: l, points: &failpointtest.Registry{}, point: point}
}

// actions are what can happen.
func (m *payment) actions() map[string]failpointtest.Action {
	return map[string]failpointtest.Action{
		"error": failpointtest.Error(nil),
		"panic": failpointtest.Panic(),
		"cancel": failpointtest.Call(func(context.Context) error {
			m.cancel()
			return nil
		}),
		"cut": failpointtest.Call(func(context.Context) error {
			m.cuts += m.line.Cut()
			return nil
		}),
		"pause": failpointtest.Call(func(context.Context) error { // deaf to its context, until the lease is over
			<-time.After(paymentLease * 3 / 2)
			return nil
		}),
	}
}

// handle is the handler. Where the lease is to be extended it has something to wait for.
func (m *payment) handle(ctx context.Context) ([]byte, error) {
	if m.point == failpoint.DedupeExtendFail && m.runs == 0 {
		select {
		case <-m.points.Reached(m.point, 1):
		case <-ctx.Done():
		}
	}
	m.runs++
	return nil, nil
}

// deliver reports whether the broker has got an ack.
func (m *payment) deliver() (acked bool) {
	ctx, cancel := context.WithTimeout(failpointtest.With(m.t.Context(), m.points), time.Minute)
	defer cancel()
	m.cancel = cancel
	defer func() {
		if what := recover(); what != nil {
			require.Contains(m.t, what, "failpoint: ")
			acked = false
		}
	}()
	_, err := m.p.Do(ctx, dedupe.Message{ID: "m"}, m.handle)
	return err == nil && ctx.Err() == nil
}

// mostRuns is how often the handler may run: twice where the process does not get to
// say that it has run, and where it is held up for longer than its lease; else once.
func mostRuns(point failpoint.Name, kind string) int {
	unsaid := point == failpoint.DedupePausePastLease && (kind == "error" || kind == "panic")
	if unsaid || kind == "pause" {
		return 2
	}
	return 1
}

// TestD6_D8_EveryKindAtEveryPoint lets everything happen at each point, once. The
// message is delivered until it is acknowledged, and once more: it has run, and not
// more often than can be excused.
func TestD6_D8_EveryKindAtEveryPoint(t *testing.T) {
	t.Parallel()
	for _, point := range []failpoint.Name{
		failpoint.DedupeClaimReplyLost, failpoint.DedupeLoseP, failpoint.DedupeEvict, failpoint.DedupeClockJump,
		failpoint.DedupeExtendFail, failpoint.DedupePausePastLease, failpoint.DedupeCompleteReplyLost, failpoint.DedupeLoseD,
	} {
		for kind := range (&payment{}).actions() {
			if point == failpoint.DedupeExtendFail && kind == "panic" {
				continue // it ends the process: TestD6_StepThroughCrashes
			}
			t.Run(fmt.Sprintf("%s/%s", point, kind), func(t *testing.T) {
				t.Parallel()
				m := newPayment(t, point)
				require.NoError(t, m.points.EnableAt(point, 1, m.actions()[kind]))
				for deliveries := 1; !m.deliver(); deliveries++ {
					require.Less(t, deliveries, 1000)
				}
				require.Positive(t, m.points.Hits(point))
				require.Equal(t, kind == "cut", m.cuts > 0)
				require.Positive(t, m.runs, "D6: no acknowledgement without a run")
				require.LessOrEqual(t, m.runs, mostRuns(point, kind))
				runs := m.runs
				require.True(t, m.deliver())
				require.Equal(t, runs, m.runs, "D3: a repeat does not run")
			})
		}
	}
}
