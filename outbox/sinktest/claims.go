package sinktest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
)

// errUnclaimed is wrapped by the errors of claims.
var errUnclaimed = errors.New("leat: the sink can do what the Features of its test rule out")

// claims returns a table of what is checked of a sink and what is not, and an error for every
// feature that f rules out although it is present, so that a promise is not left unchecked by
// claiming too little. A feature of the subject is present if the Subject implements its
// interface; a feature of messages, if the checks that are left out pass.
func claims(ctx context.Context, f Features, newSubject func() Subject) (table string, err error) {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	var errs []error
	for _, x := range features() {
		state := fmt.Sprintf("checked\tby %d", len(checks(Features{}))-len(checks(x.without)))
		if x.without == (Features{NoKey: true}) {
			state = "checked"
		}
		if x.lacks(f) {
			state = "impossible"
			there, err := x.there(ctx, f, newSubject)
			if err != nil {
				return "", err
			}
			if there {
				state = "NOT CLAIMED\tit is there"
				errs = append(errs, fmt.Errorf("%w: %s", errUnclaimed, x.name))
			}
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\n", x.name, state) // a Builder accepts everything
	}
	_ = w.Flush()
	return text.String(), errors.Join(errs...)
}

// feature is one of Features.
type feature struct {
	name string
	// without is a Features that rules out only this feature.
	without Features
	lacks   func(f Features) bool
	// there looks for the feature in a Subject whose Features rule it out.
	there func(ctx context.Context, f Features, newSubject func() Subject) (bool, error)
}

func features() []feature {
	return []feature{
		{"keys", Features{NoKey: true}, func(f Features) bool { return f.NoKey }, passes(func(f *Features) { f.NoKey = false }, "O5_OneKeyStaysInOrder")},
		{
			"odd headers and keys",
			Features{PlainHeaders: true},
			func(f Features) bool { return f.PlainHeaders },
			passes(func(f *Features) { f.PlainHeaders = false }, "O4_OddHeadersArrive", "O4_KeysArrive"),
		},
		{"refusals of single records", Features{NoRefusal: true}, func(f Features) bool { return f.NoRefusal }, is[Refuser]},
		{"lost and slow answers", Features{NoMute: true}, func(f Features) bool { return f.NoMute }, is[Muter]},
		{"late records", Features{NoStall: true}, func(f Features) bool { return f.NoStall }, is[Staller]},
		{"missing topics", Features{NoMissing: true}, func(f Features) bool { return f.NoMissing }, is[Misser]},
		{"records that are too large", Features{NoLimit: true}, func(f Features) bool { return f.NoLimit }, is[Limiter]},
		{"Close", Features{NoClose: true}, func(f Features) bool { return f.NoClose }, closes},
	}
}

// is reports whether the Subject implements T.
func is[T Subject](_ context.Context, _ Features, newSubject func() Subject) (bool, error) {
	_, ok := newSubject().(T)
	return ok, nil
}

// closes reports whether the sink has a method Close.
func closes(_ context.Context, _ Features, newSubject func() Subject) (bool, error) {
	s, err := newSubject().Sink()
	if err != nil {
		return false, fmt.Errorf("make a sink: %w", err)
	}
	c, ok := s.(interface{ Close() error })
	if ok {
		return true, c.Close()
	}
	return false, nil
}

// passes reports whether all of the checks pass with the feature claimed.
func passes(claim func(f *Features), names ...string) func(context.Context, Features, func() Subject) (bool, error) {
	return func(ctx context.Context, f Features, newSubject func() Subject) (bool, error) {
		claim(&f)
		lacks := false
		for _, name := range names {
			c, ok := Find(name)
			if !ok {
				return false, fmt.Errorf("no check is called %s", name)
			}
			lacks = lacks || c.Run(ctx, f, newSubject()) != nil
		}
		return !lacks, nil
	}
}
