package history

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// keyRef is the number of a key among the args of a [suspicion].
type keyRef uint32

// witness collects the lines about a violation.
type witness struct {
	ids  map[digest]uint32 // the events of the violation
	keys map[string]bool   // the accounts
	text map[uint32]string // the ids of the events
	seen []testimony
	// missed is the number of lines beyond maxSeen.
	missed int
}

// testimony is a line and its place.
type testimony struct {
	at   place
	line Line
}

// explain reads the history again for the lines about the first violation of each
// check, and puts them into the findings.
func explain(ctx context.Context, dir string, options Options, x *index, cases []*inquiry, findings []Finding) error {
	witnesses := x.witnesses(cases)
	if len(witnesses) == 0 {
		return nil
	}
	_, err := read(ctx, dir, func(at place, l *Line) error {
		if l == nil || l.Type == Start || l.Type == Fault || l.Type == DumpEnd {
			return nil
		}
		ids := idsOf(l)
		for _, w := range witnesses {
			w.hear(at, l, ids)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, w := range witnesses {
		findings[i].First = w.offence(x.faults, options)
		findings[i].First.Summary = cases[i].first.words(w.text, x)
	}
	return nil
}

// witnesses returns one for each violated check, by its number.
func (x *index) witnesses(cases []*inquiry) map[int]*witness {
	wanted := map[uint32]bool{}
	all := map[int]*witness{}
	for i, c := range cases {
		if c.finding.Violations == 0 {
			continue
		}
		w := &witness{ids: map[digest]uint32{}, keys: map[string]bool{}, text: map[uint32]string{}}
		for _, a := range c.first.args {
			switch a := a.(type) {
			case ref:
				wanted[uint32(a)] = true
			case keyRef:
				w.keys[x.keys.text(uint32(a))] = true
			}
		}
		all[i] = w
	}
	for d, event := range x.ids {
		if !wanted[event] {
			continue
		}
		for i, w := range all {
			if slices.Contains(cases[i].first.refs(), event) {
				w.ids[d] = event
			}
		}
	}
	return all
}

// maxSeen is how many lines a witness keeps, for example about an account.
const maxSeen = 10_000

// named is an id in a line.
type named struct {
	digest digest
	text   string
}

// idsOf returns the ids in the line.
func idsOf(l *Line) []named {
	var ids []named
	for _, id := range []string{l.ID, l.Child, l.Cause} {
		if id != "" {
			ids = append(ids, named{digestOf(id), id})
		}
	}
	return ids
}

// hear keeps the line if it is about the violation.
func (w *witness) hear(at place, l *Line, ids []named) {
	about := w.keys[l.Key] && (l.Type == Balance || l.Type == EffectRow || l.Type == Ledger) ||
		l.To != "" && w.keys[l.To] && (l.Type == EffectRow || l.Type == Ledger)
	for _, id := range ids {
		if event, ok := w.ids[id.digest]; ok {
			w.text[event] = id.text
			about = true
		}
	}
	switch {
	case !about:
	case len(w.seen) < maxSeen:
		w.seen = append(w.seen, testimony{at, *l})
	default:
		w.missed++
	}
}

// offence returns the lines, by time, with the faults of that time. Lines without a time, such as
// the rows of dumps, come last. If there are too many, the middle is left out.
func (w *witness) offence(faults []Line, options Options) *Offence {
	all := slices.Concat(w.seen, w.meanwhile(faults, options))
	slices.SortStableFunc(all, func(a, b testimony) int {
		if (a.line.At == 0) != (b.line.At == 0) {
			return cmp.Compare(b.line.At, a.line.At)
		}
		return cmp.Compare(a.line.At, b.line.At)
	})
	o := &Offence{Omitted: w.missed}
	half := options.MaxLines / 2
	for i, t := range all {
		if len(all) > options.MaxLines && i >= half && i < len(all)-half {
			o.Omitted++
			continue
		}
		o.Lines = append(o.Lines, t.String())
	}
	return o
}

// meanwhile returns the last faults within the time of the lines. There is room for only some of
// them.
func (w *witness) meanwhile(faults []Line, options Options) []testimony {
	var first, last int64
	for _, t := range w.seen {
		if at := t.line.At; at != 0 {
			last = max(last, at)
			if first == 0 || at < first {
				first = at
			}
		}
	}
	var some []testimony
	for _, f := range faults {
		if len(w.keys) == 0 && f.At <= last && max(f.At, f.Until) >= first-options.Reach.Microseconds() {
			some = append(some, testimony{line: f})
		}
	}
	return some[max(0, len(some)-options.MaxLines/3):]
}

// words puts the ids into the sentence.
func (s suspicion) words(text map[uint32]string, x *index) string {
	args := slices.Clone(s.args)
	for i, a := range args {
		switch a := a.(type) {
		case ref:
			args[i] = cmp.Or(text[uint32(a)], "an event")
		case keyRef:
			args[i] = fmt.Sprintf("%q", x.keys.text(uint32(a)))
		}
	}
	return fmt.Sprintf(s.format, args...)
}
