package history

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Options of [Check].
type Options struct {
	// Reach is how long after its end a fault can still be the reason of a repeat
	// (O10). Defaults to 10 seconds.
	Reach time.Duration
	// MaxLines is how many lines the history of an offence shows. Defaults to 60.
	MaxLines int
}

func (o Options) withDefaults() Options {
	if o.Reach <= 0 {
		o.Reach = 10 * time.Second
	}
	if o.MaxLines <= 0 {
		o.MaxLines = 60
	}
	return o
}

// Check reads the history below dir and judges it. Its files are read once, and once
// more if there is a violation to be shown. It returns [ErrUnusable] if the history
// can't be judged.
func Check(ctx context.Context, dir string, options Options) (Verdict, error) {
	options = options.withDefaults()
	x := newIndex()
	in, err := read(ctx, dir, func(at place, l *Line) error {
		if l != nil && l.Type == Start {
			x.starts++
		}
		return x.add(at, l)
	})
	if err != nil {
		return Verdict{}, err
	}
	if err := x.usable(dir); err != nil {
		return Verdict{}, err
	}
	in.Starts = x.starts
	v := Verdict{Input: in, Figures: x.count(), Faults: countFaults(x.faults)}
	cases := x.judge(options)
	for _, c := range cases {
		v.Checks = append(v.Checks, c.finding)
		v.Figures.AllowedRepeats += c.allowed
	}
	return v, explain(ctx, dir, options, x, cases, v.Checks)
}

// inquiry is a check in progress.
type inquiry struct {
	finding Finding
	// rank orders the violations. The one of the lowest rank is reported first.
	rank    int64
	first   suspicion
	allowed int
}

// suspicion is a violation whose message is not complete yet. The args that are [ref] become the
// ids of the events.
type suspicion struct {
	format string
	args   []any
}

// ref is the number of an event.
type ref uint32

// violate counts a violation and keeps it if it is the first.
func (q *inquiry) violate(rank int64, format string, args ...any) {
	if q.finding.Violations == 0 || rank < q.rank {
		q.rank, q.first = rank, suspicion{format, args}
	}
	q.finding.Violations++
}

// refs returns the events of the violation.
func (s suspicion) refs() []uint32 {
	var refs []uint32
	for _, a := range s.args {
		if r, ok := a.(ref); ok {
			refs = append(refs, uint32(r))
		}
	}
	return refs
}

// judge runs all checks.
func (x *index) judge(options Options) []*inquiry {
	x.sort()
	all := []struct {
		name, promise string
		check         func(*inquiry)
	}{
		{O1, "an event exists if and only if its transaction has committed", x.checkExistence},
		{O2, "no committed event is lost", x.checkLoss},
		{O3, "nothing is sent of a transaction that was rolled back", x.checkPhantoms},
		{O4, "all copies of an event are alike", x.checkCopies},
		{O5, "first occurrences on the broker follow the order of the key", x.checkOrder},
		{O10, "an event is sent once, and once more at most for each fault about it", x.checkRepeats(options.Reach)},
		{I1, "no effect is had twice", x.checkDoubles},
		{I2, "no effect without its message", x.checkGhosts},
		{I3, "every message has its effect, and none that was told of is gone", x.checkEffects},
		{Order, "first effects follow the order of the key", x.checkEffectOrder},
		{Derived, "every effect has its own event, and no such event is without its effect", x.checkDerived},
		{Conservation, "every account holds what was paid in and out, and the sum stays", x.checkBooks},
	}
	var cases []*inquiry
	for _, a := range all {
		q := &inquiry{finding: Finding{Name: a.name, Promise: a.promise}}
		a.check(q)
		cases = append(cases, q)
	}
	return cases
}

// sort puts records into the order of event, topic, partition and offset, effects into
// that of consumer, event and row.
func (x *index) sort() {
	slices.SortFunc(x.records, func(a, b record) int {
		return cmp.Or(cmp.Compare(a.event, b.event), cmp.Compare(a.topic, b.topic),
			cmp.Compare(a.partition, b.partition), cmp.Compare(a.offset, b.offset))
	})
	slices.SortFunc(x.effects, func(a, b effect) int {
		return cmp.Or(cmp.Compare(a.book, b.book), cmp.Compare(a.event, b.event), cmp.Compare(a.row, b.row))
	})
}
