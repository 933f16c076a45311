package history

import (
	"math"
	"slices"
	"time"
)

// copies yields the records of each event.
func (x *index) copies(yield func(e *event, copies []record) bool) {
	for i := 0; i < len(x.records); {
		j := i + 1
		for j < len(x.records) && x.records[j].event == x.records[i].event {
			j++
		}
		if !yield(&x.events[x.records[i].event], x.records[i:j]) {
			return
		}
		i = j
	}
}

// checkCopies is O4: every copy has the topic, key and content of the intent, and of
// the other copies.
func (x *index) checkCopies(q *inquiry) {
	if !x.ended[Record] {
		q.finding.Unjudged = "there is no dump of topics"
		return
	}
	for e, copies := range x.copies {
		first := copies[0]
		for _, c := range copies {
			q.finding.Checked++
			id := ref(c.event)
			switch {
			case c.topic != first.topic || e.topic != 0 && c.topic != e.topic:
				q.violate(e.at, "%s is in topic %s, which it was not for", id, x.topics.text(c.topic))
			case c.key != first.key || e.key != 0 && c.key != e.key && !e.is(child):
				q.violate(e.at, "%s has the key %q at offset %d, which is not its own", id, x.keys.text(c.key), c.offset)
			case c.cause != first.cause:
				q.violate(e.at, "%s has another cause at offset %d", id, c.offset)
			case differ(c.digest, first.digest) || differ(c.digest, e.digest):
				q.violate(e.at, "%s has another content at offset %d of %s", id, c.offset, x.topics.text(c.topic))
			}
		}
	}
}

// differ reports whether two fingerprints differ, if both are known.
func differ(a, b uint64) bool { return a != 0 && b != 0 && a != b }

// checkRepeats is O10: at most one copy of an event, plus one for each fault between its intent and
// its last copy. A database that went back counts as a further fault, in addition to the one that
// took it away: what was sent after the restored state is sent again. It is the only check that
// looks at clocks.
func (x *index) checkRepeats(reach time.Duration) func(*inquiry) {
	return func(q *inquiry) {
		if !x.ended[Record] {
			q.finding.Unjudged = "there is no dump of topics"
			return
		}
		spans := newSpans(x.faults, x.rewinds, reach)
		for e, copies := range x.copies {
			q.finding.Checked++
			if len(copies) == 1 {
				continue
			}
			from, to := x.intentOf(e, copies[0]), lastOf(e, copies)
			if allowed := 1 + spans.overlapping(from, to); len(copies) > allowed {
				q.violate(from, "%s is there %d times, but there were %d faults meanwhile",
					ref(copies[0].event), len(copies), allowed-1)
			}
		}
	}
}

// lastOf returns when the last copy was sent, or the end of time if that is not known for every
// copy.
func lastOf(e *event, copies []record) int64 {
	last := e.sent
	for _, c := range copies {
		if c.at == 0 {
			return math.MaxInt64
		}
		last = max(last, c.at)
	}
	return last
}

// intentOf returns when the event, or the event that has caused it, was intended.
func (x *index) intentOf(e *event, r record) int64 {
	if e.at == 0 {
		return x.events[r.cause].at
	}
	return e.at
}

// spans are the times of faults: when each began, and when it was over, each sorted.
type spans struct {
	begins, ends []int64
}

func newSpans(faults []Line, rewinds []rewind, reach time.Duration) spans {
	var s spans
	add := func(from, until int64) {
		s.begins = append(s.begins, from)
		s.ends = append(s.ends, max(from, until)+reach.Microseconds())
	}
	for _, f := range faults {
		add(f.At, f.Until)
	}
	back := map[rewind]bool{} // several databases may have gone back together
	for _, r := range rewinds {
		r.book = 0
		if !back[r] {
			back[r] = true
			add(r.from, r.until)
		}
	}
	slices.Sort(s.begins)
	slices.Sort(s.ends)
	return s
}

// overlapping returns how many spans have a moment in common with from … to.
func (s spans) overlapping(from, to int64) int {
	begun, found := slices.BinarySearch(s.begins, to)
	for found && begun < len(s.begins) && s.begins[begun] == to {
		begun++
	}
	over, _ := slices.BinarySearch(s.ends, from)
	return max(0, begun-over)
}
