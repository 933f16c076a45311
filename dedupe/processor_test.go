package dedupe_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/memdedupe"
	"github.com/leat-go/leat/internal/clocks"
	"github.com/leat-go/leat/outbox"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errHandler = errors.New("the handler failed")

// faulty is a Store whose answers get lost on demand.
type faulty struct {
	*memdedupe.Store

	claimErr, extendErr, completeErr, releaseErr atomic.Pointer[error]
	extends, completes                           atomic.Int64
	hang                                         atomic.Bool // extends do not answer
}

func fail(p *atomic.Pointer[error]) error {
	if err := p.Load(); err != nil {
		return *err
	}
	return nil
}

func (f *faulty) Claim(ctx context.Context, key dedupe.Key, req dedupe.Request) (dedupe.Claim, error) {
	if err := fail(&f.claimErr); err != nil {
		return dedupe.Claim{}, err
	}
	return f.Store.Claim(ctx, key, req)
}

func (f *faulty) Extend(ctx context.Context, key dedupe.Key, token string, lease time.Duration) error {
	f.extends.Add(1)
	if f.hang.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	if err := fail(&f.extendErr); err != nil {
		return err
	}
	return f.Store.Extend(ctx, key, token, lease)
}

// Complete loses the answer, not the request.
func (f *faulty) Complete(ctx context.Context, key dedupe.Key, token string, result []byte) (dedupe.Completion, error) {
	f.completes.Add(1)
	c, err := f.Store.Complete(ctx, key, token, result)
	if lost := f.completeErr.Swap(nil); lost != nil {
		return 0, *lost
	}
	return c, err
}

func (f *faulty) Release(ctx context.Context, key dedupe.Key, token string) error {
	if err := fail(&f.releaseErr); err != nil {
		return err
	}
	return f.Store.Release(ctx, key, token)
}

func newFaulty(t *testing.T) *faulty {
	t.Helper()
	s, err := memdedupe.New(memdedupe.Config{})
	require.NoError(t, err)
	return &faulty{Store: s}
}

type log struct {
	deliveries []dedupe.DeliveryEvent
}

func (l *log) OnDedupeDelivery(_ context.Context, d dedupe.DeliveryEvent) {
	l.deliveries = append(l.deliveries, d)
}

func (l *log) last() dedupe.DeliveryEvent {
	return l.deliveries[len(l.deliveries)-1]
}

func newProcessor(t *testing.T, s dedupe.Store, cfg dedupe.Config) (*dedupe.Processor, *log) {
	t.Helper()
	l := &log{}
	cfg.Hooks = []outbox.Hook{l}
	p, err := dedupe.New(s, "c", cfg)
	require.NoError(t, err)
	return p, l
}

func value(text string) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) { return []byte(text), nil }
}

func failing(context.Context) ([]byte, error) { return nil, errHandler }

func TestDo_RunsOnce(t *testing.T) {
	t.Parallel()
	p, l := newProcessor(t, newFaulty(t), dedupe.Config{})
	res, err := p.Do(t.Context(), dedupe.Message{ID: "m"}, value("first"))
	require.NoError(t, err)
	require.Equal(t, dedupe.Result{Outcome: dedupe.OutcomeRan, Value: []byte("first")}, res)
	res, err = p.Do(t.Context(), dedupe.Message{ID: "m"}, value("second"))
	require.NoError(t, err)
	require.Equal(t, dedupe.Result{Outcome: dedupe.OutcomeDuplicate, Value: []byte("first")}, res)
	require.Equal(t, dedupe.Completed, l.deliveries[0].Completion)
}

// TestD6_FailureRunsAgain: a handler that fails or panics is not done, and runs
// again at once, with the next attempt.
func TestD6_FailureRunsAgain(t *testing.T) {
	t.Parallel()
	p, l := newProcessor(t, newFaulty(t), dedupe.Config{})
	_, err := p.Do(t.Context(), dedupe.Message{ID: "m"}, failing)
	require.ErrorIs(t, err, errHandler)
	require.PanicsWithValue(t, "boom", func() {
		_, _ = p.Do(t.Context(), dedupe.Message{ID: "m"}, func(context.Context) ([]byte, error) { panic("boom") })
	})
	require.Equal(t, dedupe.OutcomePanicked, l.last().Outcome)
	var run dedupe.Run
	_, err = p.Do(t.Context(), dedupe.Message{ID: "m"}, func(ctx context.Context) ([]byte, error) {
		run, _ = dedupe.FromContext(ctx)
		return nil, nil
	})
	require.NoError(t, err)
	require.Equal(t, 3, run.Attempt)
	require.False(t, run.Takeover)
	require.Equal(t, dedupe.Key{Consumer: "c", ID: "m"}, run.Key)
}

func TestDo_Refuses(t *testing.T) {
	t.Parallel()
	s := newFaulty(t)
	p, _ := newProcessor(t, s, dedupe.Config{BusyDelay: -1})
	_, err := p.Do(t.Context(), dedupe.Message{}, value(""))
	require.ErrorIs(t, err, dedupe.ErrNoID)
	_, err = p.Do(t.Context(), dedupe.Message{ID: "m", Fingerprint: "a"}, func(ctx context.Context) ([]byte, error) {
		_, err := p.Do(ctx, dedupe.Message{ID: "m", Fingerprint: "a"}, value(""))
		require.ErrorIs(t, err, dedupe.ErrBusy)
		busy, ok := errors.AsType[*dedupe.BusyError](err)
		require.True(t, ok)
		require.Positive(t, busy.Remaining)
		_, err = p.Do(ctx, dedupe.Message{ID: "m", Fingerprint: "b"}, value(""))
		require.ErrorIs(t, err, dedupe.ErrMismatch)
		return nil, nil
	})
	require.NoError(t, err)
	for name, cfg := range map[string]dedupe.Config{
		"Lease = 1ms":   {Lease: time.Millisecond},
		"Margin = 20s":  {Lease: 30 * time.Second, Margin: 20 * time.Second},
		"Margin = -1ns": {Margin: -1},
	} {
		_, err := dedupe.New(s, "c", cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, name)
	}
	_, err = dedupe.New(nil, "c", dedupe.Config{})
	require.ErrorContains(t, err, "store")
	_, err = dedupe.New(s, "", dedupe.Config{})
	require.ErrorContains(t, err, "consumer")
}

// TestD6_LostAnswers: an answer that is lost makes nothing done that did not run,
// and lets nothing run twice that can be found out.
func TestD6_LostAnswers(t *testing.T) {
	t.Parallel()
	errLost := errors.New("lost")
	s := newFaulty(t)
	p, l := newProcessor(t, s, dedupe.Config{BusyDelay: -1})
	s.completeErr.Store(&errLost)
	_, err := p.Do(t.Context(), dedupe.Message{ID: "a"}, value(""))
	require.NoError(t, err, "the same token completes again")
	require.EqualValues(t, 2, s.completes.Load())

	s.claimErr.Store(&errLost)
	_, err = p.Do(t.Context(), dedupe.Message{ID: "b"}, func(context.Context) ([]byte, error) {
		require.Fail(t, "fails closed")
		return nil, nil
	})
	require.ErrorIs(t, err, dedupe.ErrUnavailable)
	require.ErrorIs(t, err, errLost)
	require.Equal(t, dedupe.OutcomeUnavailable, l.last().Outcome)
	open, l := newProcessor(t, s, dedupe.Config{FailOpen: true})
	res, err := open.Do(t.Context(), dedupe.Message{ID: "b"}, value("ran"))
	require.NoError(t, err)
	require.Equal(t, dedupe.Result{Outcome: dedupe.OutcomeOpen, Value: []byte("ran")}, res)
	require.Equal(t, dedupe.OutcomeOpen, l.last().Outcome)
	_, err = open.Do(t.Context(), dedupe.Message{ID: "b"}, failing)
	require.ErrorIs(t, err, errHandler)
	s.claimErr.Store(nil)

	s.releaseErr.Store(&errLost)
	_, err = p.Do(t.Context(), dedupe.Message{ID: "c"}, failing)
	require.ErrorIs(t, err, errHandler)
	_, err = p.Do(t.Context(), dedupe.Message{ID: "c"}, value(""))
	require.ErrorIs(t, err, dedupe.ErrBusy, "until the lease runs out")
}

// TestD7_HeartbeatKeepsTheLease: a handler of ten leases runs once.
func TestD7_HeartbeatKeepsTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFaulty(t)
		p, _ := newProcessor(t, s, dedupe.Config{Lease: 3 * time.Second, BusyDelay: -1})
		_, err := p.Do(t.Context(), dedupe.Message{ID: "m"}, func(ctx context.Context) ([]byte, error) {
			for range 100 {
				<-time.After(300 * time.Millisecond)
				_, err := p.Do(ctx, dedupe.Message{ID: "m"}, value(""))
				require.ErrorIs(t, err, dedupe.ErrBusy)
			}
			return nil, ctx.Err()
		})
		require.NoError(t, err)
		require.InDelta(t, 29, s.extends.Load(), 1)
	})
}

// TestD7_CancelledBeforeTakeover: while extends fail, or hang, the handler's
// context ends Margin before anybody can take over.
func TestD7_CancelledBeforeTakeover(t *testing.T) {
	t.Parallel()
	errDown := errors.New("down")
	for _, hang := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newFaulty(t)
			if hang {
				s.hang.Store(true)
			} else {
				s.extendErr.Store(&errDown)
			}
			p, l := newProcessor(t, s, dedupe.Config{Lease: 10 * time.Second, Margin: 2 * time.Second, BusyDelay: -1})
			began := time.Now()
			_, err := p.Do(t.Context(), dedupe.Message{ID: "m"}, func(ctx context.Context) ([]byte, error) {
				<-ctx.Done()
				require.Equal(t, 8*time.Second, time.Since(began))
				require.ErrorIs(t, context.Cause(ctx), dedupe.ErrLeaseLost)
				c, err := s.Store.Claim(t.Context(), dedupe.Key{Consumer: "c", ID: "m"}, dedupe.Request{Token: "x", Lease: time.Hour})
				require.NoError(t, err)
				require.Equal(t, dedupe.Busy, c.Status, "nobody can take over yet")
				return nil, ctx.Err()
			})
			require.ErrorIs(t, err, dedupe.ErrLeaseLost)
			require.Equal(t, dedupe.OutcomeFailed, l.last().Outcome)
		})
	}
}

// TestD6_FencedIsNotAcked: a handler that goes on past its lease is not
// acknowledged while another one runs, and is once that has completed.
func TestD6_FencedIsNotAcked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFaulty(t)
		s.hang.Store(true)
		p, l := newProcessor(t, s, dedupe.Config{Lease: time.Second, BusyDelay: -1})
		k := dedupe.Key{Consumer: "c", ID: "m"}
		stubborn := func(complete bool) func(context.Context) ([]byte, error) {
			return func(context.Context) ([]byte, error) {
				<-time.After(2 * time.Second)
				c, err := s.Store.Claim(t.Context(), k, dedupe.Request{Token: "other", Lease: time.Hour})
				require.NoError(t, err)
				require.True(t, c.Takeover)
				if complete {
					_, err = s.Store.Complete(t.Context(), k, "other", nil)
				}
				return nil, err
			}
		}
		_, err := p.Do(t.Context(), dedupe.Message{ID: "m"}, stubborn(false))
		require.ErrorIs(t, err, dedupe.ErrFenced)
		require.Equal(t, dedupe.OutcomeFenced, l.last().Outcome)
		s.Forget(k)
		_, err = p.Do(t.Context(), dedupe.Message{ID: "m"}, stubborn(true))
		require.NoError(t, err)
		require.Equal(t, dedupe.FencedDone, l.last().Completion)
	})
}

// TestDo_CompletesAfterCancel: the effect is there, so a delivery that was
// cancelled at the last moment is completed all the same.
func TestDo_CompletesAfterCancel(t *testing.T) {
	t.Parallel()
	p, _ := newProcessor(t, newFaulty(t), dedupe.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := p.Do(ctx, dedupe.Message{ID: "m"}, func(context.Context) ([]byte, error) {
		cancel()
		return nil, nil
	})
	require.NoError(t, err)
	res, err := p.Do(t.Context(), dedupe.Message{ID: "m"}, value(""))
	require.NoError(t, err)
	require.Equal(t, dedupe.OutcomeDuplicate, res.Outcome)
}

// TestNameIDs_ClockThatJumps: until when the store is not asked again is by a clock that nobody sets.
func TestNameIDs_ClockThatJumps(t *testing.T) {
	t.Parallel()
	p, _ := newProcessor(t, newFaulty(t), dedupe.Config{})
	before := clocks.Passed()
	require.NoError(t, p.NameIDs(t.Context(), "a"))
	require.GreaterOrEqual(t, p.Named(), before+time.Minute)
	require.LessOrEqual(t, p.Named(), clocks.Passed()+time.Minute)
	require.NoError(t, p.NameIDs(t.Context(), "b"), "the store was asked a moment ago")
}
