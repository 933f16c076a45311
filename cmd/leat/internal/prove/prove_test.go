package prove

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/fail"
)

// fake is a server whose probes are a test's.
type fake struct {
	all     []probe
	cleaned int
	left    error
}

func (*fake) About(context.Context) string { return "fake" }

func (*fake) prepare(context.Context) error { return nil }

func (f *fake) probes() []probe { return f.all }

func (*fake) shop(context.Context) (shop, error) { return nil, errors.ErrUnsupported }

func (f *fake) clean(ctx context.Context) error {
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
	breaks := func(t *trial) { t.broken("it is broken") }
	f := &fake{all: []probe{
		{name: "root", try: breaks, advice: "fix it"},
		{name: "slow", try: func(t *trial) { t.limited("it is slow") }, advice: "fix it"},
		{name: "of.root", after: []string{"slow", "root"}, try: breaks, advice: "fix it"},
		{name: "of.both", after: []string{"root", "slow"}, try: breaks, advice: "fix it"},
		{name: "well", after: []string{"root"}, try: func(*trial) {}, advice: "fix it"},
		{name: "refused", try: func(*trial) { fail.Now(refusal{error: errors.ErrUnsupported}) }},
		{name: "denied", try: func(*trial) { fail.Now(refusal{error: errors.ErrUnsupported, rights: true}) }},
		{name: "unreached", try: func(*trial) { fail.Now(errors.ErrUnsupported) }},
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
	}, outcomes)
	require.Equal(t, Broken, Worst(found))
	require.Equal(t, 1, f.cleaned)
}

// Whoever stops listening, or ends the context, leaves nothing behind; what cannot be removed is told.
func TestRunCleans(t *testing.T) {
	t.Parallel()
	f := &fake{all: []probe{{name: "one", try: func(*trial) {}}, {name: "two", try: func(*trial) {}}}}
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

// A scratch place is old after an hour.
func TestStale(t *testing.T) {
	t.Parallel()
	const now = 10_000
	for name, want := range map[string]bool{
		"leat_prove_6399_0a1b2c3d": true, "leat_prove_6400_0a1b2c3d": false, "leat_prove_6399_0a1b2c3d_outbox": true, "leat_prove_ours": false,
	} {
		require.Equal(t, want, stale(name, now), name)
	}
}
