package prover

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/memoutbox"
)

// fake is a server whose probes are a test's.
type fake struct {
	all     []Probe
	cleaned int
	left    error
	opens   func() (Shop, error)
}

func (*fake) About(context.Context) string { return "fake" }

func (*fake) Prepare(context.Context) error { return nil }

func (f *fake) Probes() []Probe { return f.all }

func (f *fake) Shop(context.Context) (Shop, error) {
	if f.opens == nil {
		return nil, errors.ErrUnsupported
	}
	return f.opens()
}

func (f *fake) Clean(ctx context.Context) error {
	f.cleaned++
	return errors.Join(ctx.Err(), f.left)
}

// options run all probes, and call tell with each finding.
func options(tell func(Finding) error) Options {
	return Options{Around: func(_ string, do func() error) error { return do() }, Tell: tell}
}

// A failure that follows from an earlier one is not told as one more, and is as bad as that one at most.
func TestRunTellsRootsFirst(t *testing.T) {
	t.Parallel()
	breaks := func(t *Trial) { t.Broken("it is broken") }
	f := &fake{all: []Probe{
		{name: "root", try: breaks, advice: "fix it"},
		{name: "slow", try: func(t *Trial) { t.Limited("it is slow") }, advice: "fix it"},
		{name: "of.root", after: []string{"slow", "root"}, try: breaks, advice: "fix it"},
		{name: "of.both", after: []string{"root", "slow"}, try: breaks, advice: "fix it"},
		{name: "well", after: []string{"root"}, try: func(*Trial) {}, advice: "fix it"},
		{name: "refused", try: func(*Trial) { fail.Now(RefusedError{error: errors.ErrUnsupported}) }},
		{name: "denied", try: func(*Trial) { fail.Now(RefusedError{error: errors.ErrUnsupported, Rights: true}) }},
		{name: "unreached", try: func(*Trial) { fail.Now(errors.ErrUnsupported) }},
		{name: "several", try: func(*Trial) { fail.Now(errors.Join(errors.New("first:\n\tmore of it"), errors.New("second"))) }},
	}}
	found, err := Run(t.Context(), f, options(func(Finding) error { return nil }))
	require.NoError(t, err)
	outcomes := map[string]Outcome{}
	for _, f := range found {
		outcomes[f.Probe] = f.Outcome
		require.Equal(t, f.Outcome == Limited && f.Probe != "of.root" || f.Probe == "root", f.Advice != "", f.Probe)
	}
	require.Equal(t, map[string]Outcome{
		"root": Broken, "slow": Limited, "of.root": Limited, "of.both": CouldNotTry, "well": OK, "refused": Broken, "denied": CouldNotTry, "unreached": CouldNotTry,
		"several": CouldNotTry,
	}, outcomes)
	require.Equal(t, []string{"first:", "more of it", "second"}, found[len(found)-1].Details)
	require.Equal(t, Broken, Worst(found))
	require.Equal(t, 1, f.cleaned)
}

// Whoever stops listening, or ends the context, leaves nothing behind; what cannot be removed is told.
func TestRunCleans(t *testing.T) {
	t.Parallel()
	f := &fake{all: []Probe{{name: "one", try: func(*Trial) {}}, {name: "two", try: func(*Trial) {}}}}
	_, err := Run(t.Context(), f, options(func(Finding) error { return errors.ErrUnsupported }))
	require.ErrorIs(t, err, errors.ErrUnsupported)
	ctx, cancel := context.WithCancel(t.Context())
	found, err := Run(ctx, f, options(func(Finding) error {
		cancel()
		return nil
	}))
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, found, 1)
	require.Equal(t, 2, f.cleaned)
	f.left = errors.ErrUnsupported
	found, err = Run(t.Context(), f, options(func(Finding) error { return nil }))
	require.NoError(t, err)
	require.Equal(t, "scratch", found[len(found)-1].Probe)
	require.Equal(t, Limited, Worst(found))
}

// memoryShop is a shop whose outbox is in memory. Its database takes its time.
type memoryShop struct {
	*memoutbox.Outbox

	produces, consumes time.Duration

	mu  sync.Mutex
	all Truth
}

func (s *memoryShop) Produce(ctx context.Context, m outbox.Message, hold func(version int64) bool) (history.Type, error) {
	err := errors.Join(wait.For(ctx, s.produces), s.InTx(ctx, func(ctx context.Context, tx *memoutbox.Tx) error {
		return s.Enqueue(ctx, tx, m)
	}))
	if err != nil {
		return history.Aborted, err
	}
	hold(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all.Ledger = append(s.all.Ledger, Row{ID: m.ID, Key: m.Key})
	return history.Committed, nil
}

func (s *memoryShop) Source(context.Context, *Wires) (driver.Source, func(), error) {
	return s.Outbox.Source(memoutbox.SourceConfig{}), func() {}, nil
}

func (s *memoryShop) Consume(ctx context.Context, _ *message.Message) (inbox.Outcome, error) {
	return inbox.OutcomeCommitted, wait.For(ctx, s.consumes)
}

func (s *memoryShop) Truth(context.Context) (Truth, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all, nil
}

func (*memoryShop) Waiting(context.Context, []string) ([]string, error) { return nil, nil }
func (*memoryShop) CutOne() bool                                        { return false }
func (*memoryShop) End()                                                {}

// A workload on a server that answers late, or never, is over in time, and says how far it has come.
func TestRunBoundsTheWorkload(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		produces, consumes time.Duration
		says               string
	}{
		"never": {produces: 24 * time.Hour, says: "0 messages were sent and 0 had their effect"},
		"late":  {consumes: 5 * time.Second, says: "had their effect"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ob, err := memoutbox.New(memoutbox.Config{})
				require.NoError(t, err)
				began := time.Now()
				o := options(func(Finding) error { return nil })
				o.Workload = 20 * time.Second
				found, err := Run(t.Context(), &fake{opens: func() (Shop, error) {
					return &memoryShop{Outbox: ob, produces: c.produces, consumes: c.consumes}, nil
				}}, o)
				require.NoError(t, err)
				require.Len(t, found, 1)
				require.Equal(t, CouldNotTry, found[0].Outcome, "%q", found[0].Details)
				require.Contains(t, found[0].Details[0], c.says)
				require.Contains(t, strings.Join(found[0].Details, "\n"), "was not over in time")
				require.Less(t, time.Since(began), 2*time.Minute)

				began = time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				f := &fake{opens: func() (Shop, error) { return &memoryShop{Outbox: ob, produces: time.Hour}, nil }}
				_, err = Run(ctx, f, o)
				require.ErrorIs(t, err, context.DeadlineExceeded) // the user's
				require.Equal(t, 1, f.cleaned)
				require.Less(t, time.Since(began), 40*time.Second)
			})
		})
	}
}

// A scratch place is old after an hour.
func TestStale(t *testing.T) {
	t.Parallel()
	const now = 10_000
	for name, want := range map[string]bool{
		"leat_prove_6399_0a1b2c3d": true, "leat_prove_6400_0a1b2c3d": false, "leat_prove_6399_0a1b2c3d_outbox": true, "leat_prove_ours": false,
	} {
		require.Equal(t, want, Stale(name, now), name)
	}
}
