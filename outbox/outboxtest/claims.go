package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
)

// ErrUnclaimed is wrapped by the errors of Claims.
var ErrUnclaimed = errors.New("leat: the outbox can do what the Features of its test rule out")

// Claims returns a table of what is checked of an outbox and what is not, and an error for
// everything that f rules out although s has it, so that nobody leaves a promise unchecked
// by claiming too little. No check may have used s before. The table shows of each feature:
//
//   - "checked": with the number of checks that would be left out without it.
//   - "impossible": s was asked for it, and does not have it.
//   - "not claimed": f rules it out, and there is no way to ask s for it.
//   - "NOT CLAIMED": f rules it out, and s has it.
func Claims(ctx context.Context, f Features, s Subject) (table string, err error) {
	tr := &trial{Subject: s, features: f.withDefaults()}
	defer tr.end()
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	var errs []error
	for _, feature := range allFeatures() {
		state := "checked"
		if n := feature.checks(); n > 0 {
			state = fmt.Sprintf("checked\tby %d", n)
		}
		if feature.lacks(f) {
			var err error
			state, err = feature.look(ctx, tr)
			errs = append(errs, err)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\n", feature.name, state) // a Builder takes everything
	}
	_ = w.Flush()
	return text.String(), errors.Join(errs...)
}

// presence is what is known of a feature that Features rules out.
type presence int

const (
	unknown presence = iota // there is no way to ask
	absent
	present
)

// feature is a feature of Features.
type feature struct {
	name string
	// without is the Features that rules out this one and nothing else.
	without Features
	// lacks reports whether f rules it out.
	lacks func(f Features) bool
	// see looks for it in a Subject whose Features rule it out.
	see func(ctx context.Context, tr *trial) (presence, error)
}

// checks counts the checks that are left out without it.
func (x feature) checks() int {
	n := 0
	for _, c := range append(outboxChecks(), relayChecks()...) {
		if c.skip != nil && c.skip(x.without) && !c.skip(Features{}) {
			n++
		}
	}
	return n
}

// look returns the state of a feature that is ruled out.
func (x feature) look(ctx context.Context, tr *trial) (string, error) {
	there, err := x.see(ctx, tr)
	switch {
	case err != nil:
		return "error", fmt.Errorf("look for %s: %w", x.name, err)
	case there == present:
		return "NOT CLAIMED\tit is there", fmt.Errorf("%w: %s", ErrUnclaimed, x.name)
	case there == absent:
		return "impossible", nil
	default:
		return "not claimed", nil
	}
}

func allFeatures() []feature {
	return []feature{
		{"several writers", Features{OneWriter: true}, func(f Features) bool { return f.OneWriter }, seeWriters},
		{"key order", Features{NoKeyOrder: true}, func(f Features) bool { return f.NoKeyOrder }, seeKeyOrder},
		{"keys that wait", Features{OptimisticKeys: true}, func(f Features) bool { return f.OptimisticKeys }, seeKeyOrder},
		{"groups", Features{NoGroups: true}, func(f Features) bool { return f.NoGroups }, seeGroups},
		{"delayed messages", Features{NoDelay: true}, func(f Features) bool { return f.NoDelay }, seeDelay},
		{"wakes", Features{NoWakes: true}, func(f Features) bool { return f.NoWakes }, seeWakes},
		{"every position stored at once", Features{LazyAdvance: true}, func(f Features) bool { return f.LazyAdvance }, seeNothing},
		{"records set aside", Features{NoHolder: true}, func(f Features) bool { return f.NoHolder }, seeHolder},
		{"slots", Features{NoSlots: true}, func(f Features) bool { return f.NoSlots }, seeSlots},
		{"change of slots", Features{FixedSlots: true}, func(f Features) bool { return f.FixedSlots }, seeSlotChange},
		{"stated starts", Features{NoStarts: true}, func(f Features) bool { return f.NoStarts }, seeStarts},
		{"topic filters", Features{NoTopics: true}, func(f Features) bool { return f.NoTopics }, seeTopics},
		{"positions of sinks", Features{NoPositions: true}, func(f Features) bool { return f.NoPositions }, seePositions},
		{"history of settled records", Features{NoHistory: true}, func(f Features) bool { return f.NoHistory }, seeHistory},
		{"retention", Features{NoRetention: true}, noRetention, seeRetention},
		{"replay", Features{NoReplay: true}, func(f Features) bool { return f.NoReplay }, seeReplay},
	}
}
