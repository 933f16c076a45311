package dedupe_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/inbox"
)

// forgetful keeps that things are done, and no results.
type forgetful struct{ *faulty }

func (f forgetful) Complete(ctx context.Context, key dedupe.Key, token string, _ []byte) (dedupe.Completion, error) {
	return f.faulty.Complete(ctx, key, token, nil)
}

// charge is a step that counts its calls.
type charge struct {
	calls []dedupe.StepCall
	err   error
}

func (c *charge) step(_ context.Context, call dedupe.StepCall) ([]byte, error) {
	c.calls = append(c.calls, call)
	return []byte("receipt"), c.err
}

// TestD6_StepRunsOnceWhateverItsMessageDoes: the step's value outlives failures of
// the message, and its own failures are not done.
func TestD6_StepRunsOnceWhateverItsMessageDoes(t *testing.T) {
	t.Parallel()
	p, _ := newProcessor(t, newFaulty(t), dedupe.Config{})
	c := &charge{err: errHandler}
	deliver := func(after func() error) error {
		_, err := p.Do(t.Context(), dedupe.Message{ID: "m"}, func(ctx context.Context) ([]byte, error) {
			value, err := dedupe.Step(ctx, "charge", c.step)
			if err != nil {
				return nil, err
			}
			require.Equal(t, "receipt", string(value))
			return nil, after()
		})
		return err
	}
	require.ErrorIs(t, deliver(nil), errHandler)
	c.err = nil
	require.ErrorIs(t, deliver(func() error { return errHandler }), errHandler)
	require.Panics(t, func() { _ = deliver(func() error { panic("boom") }) })
	require.NoError(t, deliver(func() error { return nil }))
	require.NoError(t, deliver(func() error { return nil }))
	key := inbox.ChildID("m", "c", "charge")
	require.Equal(t, []dedupe.StepCall{
		{IdempotencyKey: key, Fence: 1}, {IdempotencyKey: key, Fence: 2, Again: true},
	}, c.calls)
}

// TestD8_StepWithoutItsValueRunsAgain: with the same key.
func TestD8_StepWithoutItsValueRunsAgain(t *testing.T) {
	t.Parallel()
	p, _ := newProcessor(t, forgetful{newFaulty(t)}, dedupe.Config{})
	c := &charge{}
	for range 2 {
		value, err := p.Step(t.Context(), "m", "charge", c.step)
		require.NoError(t, err)
		require.Equal(t, "receipt", string(value))
	}
	require.Len(t, c.calls, 2)
	require.Equal(t, c.calls[0].IdempotencyKey, c.calls[1].IdempotencyKey)
	require.True(t, c.calls[1].Again)
}

// TestD1_StepsOfOneNameRunOnce: concurrent ones wait for the one that runs; other
// names, messages and consumers have steps of their own.
func TestD1_StepsOfOneNameRunOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFaulty(t)
		p, _ := newProcessor(t, s, dedupe.Config{Lease: time.Minute, BusyDelay: -1})
		var calls atomic.Int64
		keys := sync.Map{}
		slow := func(ctx context.Context, call dedupe.StepCall) ([]byte, error) {
			calls.Add(1)
			keys.Store(call.IdempotencyKey, true)
			<-time.After(5 * time.Minute) // the lease is kept
			return []byte(call.IdempotencyKey), ctx.Err()
		}
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				value, err := p.Step(t.Context(), "m", "slow", slow)
				if err != nil || string(value) != inbox.ChildID("m", "c", "slow") {
					t.Errorf("got %q, %v", value, err)
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, 1, calls.Load())
		_, err := p.Step(t.Context(), "m", "another", slow)
		require.NoError(t, err)
		_, err = p.Step(t.Context(), "n", "slow", slow)
		require.NoError(t, err)
		require.EqualValues(t, 3, calls.Load())
		// A message with the text of a key is not a step.
		keys.Range(func(key, _ any) bool {
			res, err := p.Do(t.Context(), dedupe.Message{ID: key.(string)}, value(""))
			require.NoError(t, err)
			require.Equal(t, dedupe.OutcomeRan, res.Outcome)
			return true
		})
	})
}

func TestStep_Refuses(t *testing.T) {
	t.Parallel()
	c := &charge{}
	_, err := dedupe.Step(t.Context(), "charge", c.step)
	require.EqualError(t, err, "leat: a step needs a name, and a message that is being processed")
	s := newFaulty(t)
	p, _ := newProcessor(t, s, dedupe.Config{BusyDelay: -1})
	_, err = p.Step(t.Context(), "m", "", c.step)
	require.EqualError(t, err, "leat: a step needs a name, and a message that is being processed")
	_, err = p.Step(t.Context(), "", "charge", c.step)
	require.ErrorIs(t, err, dedupe.ErrNoID)
	down := errors.New("down")
	s.claimErr.Store(&down)
	_, err = p.Step(t.Context(), "m", "charge", c.step)
	require.ErrorIs(t, err, dedupe.ErrUnavailable)
	require.ErrorContains(t, err, "consumer c, message \"m\", step \"charge\"")
	require.Empty(t, c.calls)
	s.claimErr.Store(nil)

	// Given up by a crash: the next run waits for its lease, or for its own end.
	_, err = s.Store.Claim(t.Context(), dedupe.Key{Consumer: "c", ID: "leat step " + inbox.ChildID("m", "c", "charge")},
		dedupe.Request{Token: "dead", Lease: time.Hour})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, errHandler)
	defer cancel()
	_, err = p.Step(ctx, "m", "charge", c.step)
	require.ErrorIs(t, err, errHandler)
}
