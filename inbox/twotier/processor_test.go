package twotier_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/inbox/twotier"
	"github.com/leat-go/leat/internal/clocks"
	"github.com/leat-go/leat/outbox"
)

var errBroken = errors.New("broken")

// history is a scope to be changed and broken, whose reads are counted.
type history struct {
	mu    sync.Mutex
	scope string
	err   error
	reads int
	hold  chan struct{} // reads wait for it where it is set
}

func (h *history) Scope(context.Context) (string, error) {
	h.mu.Lock()
	hold := h.hold
	h.reads++
	h.mu.Unlock()
	if hold != nil {
		<-hold
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.scope, h.err
}

func (h *history) set(scope string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.scope, h.err = scope, err
}

// What a look can find.
var (
	missed   = twotier.LookEvent{}
	skipped  = twotier.LookEvent{Skipped: true}
	outlived = twotier.LookEvent{Outlived: true}
)

// events records what the caches did.
type events struct {
	mu   sync.Mutex
	seen []twotier.LookEvent
}

func (e *events) OnTwotierLook(_ context.Context, event twotier.LookEvent) {
	e.mu.Lock()
	defer e.mu.Unlock()
	event.Consumer, event.ID = "", ""
	e.seen = append(e.seen, event)
}

func (e *events) last() twotier.LookEvent {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.seen[len(e.seen)-1]
}

// broken is a cache that is unavailable.
type broken struct{ calls atomic.Int64 }

func (b *broken) Seen(context.Context, string, string) (string, error) {
	b.calls.Add(1)
	return "", errBroken
}

func (b *broken) Remember(context.Context, string, string, string) error {
	b.calls.Add(1)
	return errBroken
}

type rig struct {
	inbox.Runner

	store  *meminbox.Store
	events *events
	h      *history
}

func newRig(t *testing.T, cfg twotier.Config) *rig {
	t.Helper()
	r := &rig{store: &meminbox.Store{}, events: &events{}, h: &history{scope: "one"}}
	in, err := meminbox.New("tester", meminbox.Config{Store: r.store, Config: inbox.Config{BusyDelay: inbox.NoDelay}})
	require.NoError(t, err)
	cfg.Scope, cfg.Hooks = r.h.Scope, []outbox.Hook{r.events}
	r.Runner, err = twotier.New(in.Processor, cfg)
	require.NoError(t, err)
	return r
}

func (r *rig) deliver(ctx context.Context, id string, err error) (inbox.Outcome, error) {
	return r.Process(ctx, message.NewMessage(id, nil), func(context.Context) error { return err })
}

// shared is a cache that outlives a process.
type shared map[[2]string]string

func (s shared) Seen(_ context.Context, consumer, id string) (string, error) {
	return s[[2]string{consumer, id}], nil
}

func (s shared) Remember(_ context.Context, consumer, id, scope string) error {
	s[[2]string{consumer, id}] = scope
	return nil
}

// TestI9_SkipsOnlyWhatIsCommittedInThisScope walks through all answers.
func TestI9_SkipsOnlyWhatIsCommittedInThisScope(t *testing.T) {
	t.Parallel()
	far := shared{}
	r := newRig(t, twotier.Config{Shared: far})
	expect := func(handler error, outcome inbox.Outcome, event twotier.LookEvent) {
		t.Helper()
		got, err := r.deliver(t.Context(), "a", handler)
		require.ErrorIs(t, err, handler)
		require.Equal(t, outcome, got)
		require.Equal(t, event, r.events.last())
	}
	expect(errBroken, inbox.OutcomeFailed, missed)
	require.Empty(t, far, "what failed is not remembered")
	expect(nil, inbox.OutcomeCommitted, missed)
	got, err := r.deliver(t.Context(), "a", errBroken)
	require.NoError(t, err)
	require.Equal(t, inbox.OutcomeDuplicate, got)
	require.Equal(t, skipped, r.events.last())
	require.Equal(t, 2, r.h.reads, "one to remember under, one for the skip")

	r.h.set("", errBroken)
	got, err = r.deliver(t.Context(), "a", errBroken)
	require.NoError(t, err, "the inbox answers")
	require.Equal(t, inbox.OutcomeDuplicate, got)
	require.Equal(t, outlived, r.events.last())

	r.h.set("two", nil)
	got, err = r.deliver(t.Context(), "a", errBroken)
	require.NoError(t, err)
	require.Equal(t, inbox.OutcomeDuplicate, got)
	require.Equal(t, outlived, r.events.last())
	got, err = r.deliver(t.Context(), "a", errBroken)
	require.NoError(t, err)
	require.Equal(t, inbox.OutcomeDuplicate, got)
	require.Equal(t, skipped, r.events.last(), "remembered anew, in the new scope")
}

// TestI9_FillsTheNearerCache: what the shared cache knows this process learns.
func TestI9_FillsTheNearerCache(t *testing.T) {
	t.Parallel()
	far := shared{}
	r := newRig(t, twotier.Config{Shared: far})
	require.NoError(t, far.Remember(t.Context(), "tester", "a", "one"))
	for range 2 {
		got, err := r.deliver(t.Context(), "a", errBroken)
		require.NoError(t, err)
		require.Equal(t, inbox.OutcomeDuplicate, got)
		require.Equal(t, skipped, r.events.last())
		clear(far)
	}
}

// TestI9_LostCommit: the inbox has lost what the cache knows, as after a failover.
// Scoped, the message runs again; the forbidden form, one scope for ever, skips it.
func TestI9_LostCommit(t *testing.T) {
	t.Parallel()
	for name, scope := range map[string]string{"scoped": "two", "negative control": "one"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cache := shared{}
			before := newRig(t, twotier.Config{Memory: -1, Shared: cache})
			_, err := before.deliver(t.Context(), "a", nil)
			require.NoError(t, err)
			after := newRig(t, twotier.Config{Memory: -1, Shared: cache})
			after.h.set(scope, nil)
			_, err = after.deliver(t.Context(), "a", nil)
			require.NoError(t, err)
			require.Equal(t, scope == "two", after.store.Recorded("tester", "a"))
		})
	}
}

// TestI9_OneReadServesAllWhoWait: those who ask while a read runs wait for the
// next, together, and never take the one that began before they came.
func TestI9_OneReadServesAllWhoWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, twotier.Config{})
		_, err := r.deliver(t.Context(), "a", nil)
		require.NoError(t, err)
		r.h.hold = make(chan struct{})
		var wg sync.WaitGroup
		var skipped atomic.Int64
		ask := func(ctx context.Context) {
			wg.Go(func() {
				if outcome, err := r.deliver(ctx, "a", errBroken); err == nil && outcome == inbox.OutcomeDuplicate {
					skipped.Add(1)
				}
			})
		}
		ask(t.Context())
		synctest.Wait() // its read has begun
		impatient, cancel := context.WithCancel(t.Context())
		ask(impatient)
		for range 50 {
			ask(t.Context())
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		require.Equal(t, 2, r.h.reads, "one was done before, one is under way")
		close(r.h.hold)
		wg.Wait()
		require.Equal(t, 3, r.h.reads)
		require.GreaterOrEqual(t, skipped.Load(), int64(51))
	})
}

// TestI1_BrokenCachesCostNothingButTheirLook: the inbox answers, and a cache that
// fails is left alone for a while.
func TestI1_BrokenCachesCostNothingButTheirLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cache := &broken{}
		r := newRig(t, twotier.Config{Memory: -1, Shared: cache})
		_, err := r.deliver(t.Context(), "a", nil)
		require.NoError(t, err)
		for range 20 {
			got, err := r.deliver(t.Context(), "a", errBroken)
			require.NoError(t, err)
			require.Equal(t, inbox.OutcomeDuplicate, got)
		}
		require.EqualValues(t, 1, cache.calls.Load())
		<-time.After(2 * time.Second)
		_, err = r.deliver(t.Context(), "a", errBroken)
		require.NoError(t, err)
		require.EqualValues(t, 2, cache.calls.Load())
	})
}

// TestI1_ClockThatJumps: until when a cache that failed is left alone is by a clock that nobody sets.
func TestI1_ClockThatJumps(t *testing.T) {
	t.Parallel()
	r := newRig(t, twotier.Config{Memory: -1, Shared: &broken{}, RetryAfter: time.Hour})
	before := clocks.Passed()
	_, err := r.deliver(t.Context(), "a", nil)
	require.NoError(t, err)
	until := twotier.Rests(r.Runner)
	require.Len(t, until, 1)
	require.GreaterOrEqual(t, until[0], before+time.Hour)
	require.LessOrEqual(t, until[0], clocks.Passed()+time.Hour)
}

func TestI11_EmptyIDIsTheInboxsError(t *testing.T) {
	t.Parallel()
	_, err := newRig(t, twotier.Config{}).deliver(t.Context(), "", nil)
	require.ErrorIs(t, err, inbox.ErrNoMessageID)
}

func TestMemory_ForgetsByUseAndTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := twotier.NewMemory(2, time.Minute)
		knows := func(id string) bool {
			scope, err := m.Seen(t.Context(), "c", id)
			require.NoError(t, err)
			return scope == "s"
		}
		for _, id := range []string{"a", "b", "a", "c"} {
			require.NoError(t, m.Remember(t.Context(), "c", id, "s"))
		}
		require.True(t, knows("a") && knows("c") && !knows("b"))
		scope, err := m.Seen(t.Context(), "another", "a")
		require.NoError(t, err)
		require.Empty(t, scope)
		<-time.After(time.Minute)
		require.False(t, knows("a"))
		require.Equal(t, 1, m.Len())
	})
}

func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	in, err := meminbox.New("tester", meminbox.Config{})
	require.NoError(t, err)
	scope := (&history{}).Scope
	for want, cfg := range map[string]twotier.Config{
		"Scope = <nil>":       {},
		"Memory = -1":         {Scope: scope, Memory: -1},
		"MemoryTTL = -1ns":    {Scope: scope, MemoryTTL: -1},
		"CacheTimeout = -1ns": {Scope: scope, CacheTimeout: -1},
		"RetryAfter = -1ns":   {Scope: scope, RetryAfter: -1},
	} {
		_, err := twotier.New(in.Processor, cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, want)
	}
	_, err = twotier.New(nil, twotier.Config{})
	require.ErrorContains(t, err, "in = <nil>")
}

// TestI9_IDsAreTheInboxs: two producers use the same ids, and the inbox tells them apart. A cache that did not would
// acknowledge the messages of one of them.
func TestI9_IDsAreTheInboxs(t *testing.T) {
	t.Parallel()
	in, err := meminbox.New("loyalty", meminbox.Config{Config: inbox.Config{
		IDFrom: inbox.IDWithin("producer", func(msg *message.Message) (string, error) {
			return msg.Metadata.Get("producer"), nil
		}, inbox.DefaultIDSource()),
	}})
	require.NoError(t, err)
	h := &history{scope: "one"}
	p, err := twotier.New(in.Processor, twotier.Config{Scope: h.Scope})
	require.NoError(t, err)
	for _, want := range []inbox.Outcome{inbox.OutcomeCommitted, inbox.OutcomeDuplicate} {
		for _, producer := range []string{"orders", "returns"} {
			msg := message.NewMessage("1", nil)
			msg.Metadata.Set("producer", producer)
			outcome, err := p.Process(t.Context(), msg, func(context.Context) error { return nil })
			require.NoError(t, err)
			require.Equal(t, want, outcome, producer)
		}
	}
}
