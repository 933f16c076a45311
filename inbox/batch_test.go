package inbox_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/outbox"
)

func TestNewBatchRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	single, err := inbox.New(&fakeStore{}, "tester", inbox.Config{})
	require.NoError(t, err)
	batches, err := inbox.New(newBatchStore(), "tester", inbox.Config{})
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		p    *inbox.Processor
		cfg  inbox.BatchConfig
		want string
	}{
		"nil":              {nil, inbox.BatchConfig{}, "p = <nil>: must not be nil"},
		"store":            {single, inbox.BatchConfig{}, "has a store that claims no batches"},
		"MaxBatch":         {batches, inbox.BatchConfig{MaxBatch: 1001}, "MaxBatch = 1001: must be 1 to 1000"},
		"negative":         {batches, inbox.BatchConfig{MaxBatch: -1}, "MaxBatch = -1: must be 1 to 1000"},
		"Lanes":            {batches, inbox.BatchConfig{Lanes: -1}, "Lanes = -1: must be 1 or more"},
		"Lanes × MaxBatch": {batches, inbox.BatchConfig{Lanes: 11, MaxBatch: 1000}, "Lanes = 11: times MaxBatch (1000) must not exceed 10000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := inbox.NewBatch(tt.p, tt.cfg)
			require.ErrorIs(t, err, outbox.ErrInvalidConfig)
			require.ErrorContains(t, err, tt.want)
		})
	}
	_, err = inbox.NewBatch(batches, inbox.BatchConfig{Lanes: 10, MaxBatch: 1000})
	require.NoError(t, err)
}

// TestI13_AloneKeepsItsKeysOrder: what cannot be claimed with others is run by
// itself, the later ones of its key after it, and nothing of them stays claimed.
func TestI13_AloneKeepsItsKeysOrder(t *testing.T) {
	t.Parallel()
	store, r := newBatchStore(), batchRecorder{}
	store.statuses = map[string]driver.Status{"k/2": driver.Alone, "d": driver.Duplicate}
	errs := newBatch(t, store, inbox.BatchConfig{}).Process(t.Context(), keyed("k/1", "k/2", "a", "k/3", "d", "b", ""), r.handle)

	require.Equal(t, [][]string{{"k/1", "a", "b"}, {"k/2"}, {"k/3"}}, r.calls)
	require.NoError(t, errors.Join(errs[:6]...))
	require.ErrorIs(t, errs[6], inbox.ErrNoMessageID)
	require.Equal(t, []string{"k/2", "k/3"}, store.claimed)
	require.Equal(t, 1, store.rollbacks, "the claim that had k/3 in it")
	require.Equal(t, 3, store.commits)
}

// TestI13_LaterIsClaimedTogether: what shares a lock with another transaction is claimed
// again behind the batch, as one and in the order of its keys, as long as each time some are.
func TestI13_LaterIsClaimedTogether(t *testing.T) {
	t.Parallel()
	store, r := newBatchStore(), batchRecorder{}
	store.statuses = map[string]driver.Status{"c": driver.Alone}
	store.later = map[string]int{"k/1": 1, "b": 2, "d": 10}
	errs := newBatch(t, store, inbox.BatchConfig{}).Process(t.Context(), keyed("a", "k/1", "b", "c", "k/2", "d", "e"), r.handle)

	require.NoError(t, errors.Join(errs...))
	require.Equal(t, [][]string{{"a", "e"}, {"k/1", "k/2"}, {"b"}, {"c"}, {"d"}}, r.calls)
	require.Equal(t, []string{"c", "d"}, store.claimed, "what has to be alone, and what was Later to the end")
	alone := driver.BatchItem{ID: "c"}
	require.Contains(t, store.batches[0], alone)
	for _, items := range store.batches[1:] {
		require.NotContains(t, items, alone)
	}
}

func TestBatchRepeatsATransactionThatLost(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		retries int
		claims  []error
		errs    []error
		want    [][]string
	}{
		"in the handler":      {2, nil, []error{errLost, errLost}, [][]string{{"a", "b"}, {"a", "b"}, {"a", "b"}}},
		"in the claim":        {2, []error{errLost, errLost}, nil, [][]string{{"a", "b"}}},
		"more often":          {1, nil, []error{errLost, errLost}, [][]string{{"a", "b"}, {"a", "b"}, {"a"}, {"b"}}},
		"no retries":          {-1, nil, []error{errLost}, [][]string{{"a", "b"}, {"a"}, {"b"}}},
		"no room for locks":   {2, []error{driver.ErrBatchTooLarge}, nil, [][]string{{"a"}, {"b"}}},
		"for another reason":  {2, nil, []error{errFake}, [][]string{{"a", "b"}, {"a"}, {"b"}}},
		"named out of bounds": {2, nil, []error{&inbox.MessageError{Index: 2, Err: errFake}}, [][]string{{"a", "b"}, {"a"}, {"b"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, r := newBatchStore(), batchRecorder{errs: tt.errs}
			store.errs = tt.claims
			b := newBatch(t, store, inbox.BatchConfig{}, func(cfg *inbox.Config) { cfg.ConflictRetries = tt.retries })
			require.NoError(t, errors.Join(b.Process(t.Context(), keyed("a", "b"), r.handle)...))
			require.Equal(t, tt.want, r.calls)
		})
	}
}

func TestBatchThatCannotBeClaimed(t *testing.T) {
	t.Parallel()
	store, r := newBatchStore(), batchRecorder{}
	store.errs = []error{errFake}
	for _, err := range newBatch(t, store, inbox.BatchConfig{}).Process(t.Context(), keyed("a", "b"), r.handle) {
		require.ErrorIs(t, err, inbox.ErrNotClaimed)
		require.ErrorIs(t, err, errFake)
		require.False(t, inbox.ShouldPoison(err))
	}
	require.Empty(t, r.calls)
	require.Len(t, store.batches, 1, "an outage must not be searched for a message")
}

// TestBatchKeyError: a message whose place in the order is unknown is not run.
func TestBatchKeyError(t *testing.T) {
	t.Parallel()
	r := batchRecorder{}
	b := newBatch(t, newBatchStore(), inbox.BatchConfig{}, func(cfg *inbox.Config) {
		cfg.KeyFunc = func(_ string, msg *message.Message) (string, error) {
			if msg.UUID == "b" {
				return "", errKey
			}
			return "", nil
		}
	})
	errs := b.Process(t.Context(), keyed("a", "b", "c"), r.handle)
	require.NoError(t, errors.Join(errs[0], errs[2]))
	require.ErrorIs(t, errs[1], errKey)
	require.Equal(t, [][]string{{"a", "c"}}, r.calls)
}

// TestI3_BatchWithAnEndedContext: nothing is committed once the context has ended,
// whichever of the two it is.
func TestI3_BatchWithAnEndedContext(t *testing.T) {
	t.Parallel()
	store := newBatchStore()
	b := newBatch(t, store, inbox.BatchConfig{MaxBatch: 2})
	ctx, cancel := context.WithCancel(t.Context())
	own, cancelOwn := context.WithCancel(t.Context())
	msgs := keyed("a", "b", "c", "d")
	msgs[0].SetContext(own)
	cancelOwn()
	errs := b.Process(ctx, msgs, func(context.Context, []*message.Message) error {
		cancel()
		return nil
	})
	for _, err := range errs {
		require.ErrorIs(t, err, context.Canceled)
	}
	require.Zero(t, store.commits)
}

// TestBatchLanes: more calls than lanes wait.
func TestBatchLanes(t *testing.T) {
	t.Parallel()
	in, err := meminbox.New("tester", meminbox.Config{})
	require.NoError(t, err)
	b, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{Lanes: 2})
	require.NoError(t, err)
	var (
		group         sync.WaitGroup
		running, most atomic.Int32
	)
	both := make(chan struct{})
	for i := range 6 {
		group.Go(func() {
			id := string(rune('a' + i))
			errs := b.Process(t.Context(), keyed(id+"1", id+"2"), func(context.Context, []*message.Message) error {
				n := running.Add(1)
				defer running.Add(-1)
				if n == 2 && most.Swap(2) < 2 {
					close(both)
				}
				if n > 2 {
					most.Store(n)
				}
				<-both
				return nil
			})
			if err := errors.Join(errs...); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 2, most.Load())

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, b.Process(ctx, keyed("x"), nil)[0], context.Canceled)
}

// TestBatchTellsHooks: each message's outcome, once.
func TestBatchTellsHooks(t *testing.T) {
	t.Parallel()
	var seen outcomes
	store, r := newBatchStore(), batchRecorder{}
	store.statuses = map[string]driver.Status{"dup": driver.Duplicate, "k/busy": driver.Busy}
	p, err := inbox.New(store, "tester", inbox.Config{BusyDelay: inbox.NoDelay, Hooks: []outbox.Hook{&seen}})
	require.NoError(t, err)
	b, err := inbox.NewBatch(p, inbox.BatchConfig{})
	require.NoError(t, err)
	require.Equal(t, "tester", b.Consumer())
	b.Process(t.Context(), keyed("a", "dup", "k/busy", "k/held", "a"), r.handle)
	require.Equal(t, outcomes{
		"dup": {inbox.OutcomeDuplicate}, "k/busy": {inbox.OutcomeBusy}, "k/held": {inbox.OutcomeFailed},
		"a": {inbox.OutcomeCommitted, inbox.OutcomeDuplicate},
	}, seen)
}

// outcomes is a hook.
type outcomes map[string][]inbox.Outcome

func (o *outcomes) OnInboxDelivery(_ context.Context, d inbox.DeliveryEvent) {
	if *o == nil {
		*o = outcomes{}
	}
	(*o)[d.ID] = append((*o)[d.ID], d.Outcome)
}

func TestBatchHandlerPanics(t *testing.T) {
	t.Parallel()
	for _, v := range []any{errFake, "fake"} {
		errs := newBatch(t, newBatchStore(), inbox.BatchConfig{}).Process(t.Context(), keyed("a"),
			func(context.Context, []*message.Message) error { panic(v) })
		require.ErrorContains(t, errs[0], "leat: batch handler panicked: fake\n")
		require.ErrorContains(t, errs[0], "batch_test.go", "the stack")
		require.Equal(t, v == any(errFake), errors.Is(errs[0], errFake))
	}
}

func TestBatchErrors(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, &inbox.MessageError{Index: 3, Err: errFake}, "message 3 of the batch: fake")
	require.False(t, inbox.ShouldPoison(inbox.ErrHeldBack))
	require.Equal(t, "alone", driver.Alone.String())
}
