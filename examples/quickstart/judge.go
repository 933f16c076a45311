package main

import (
	"slices"
	"time"
)

// judge compares what happened with what should have.
func judge(h history) *verdict {
	v := &verdict{
		Committed:  len(h.committed),
		RolledBack: len(h.rolledBack),
		Published:  len(h.topic),
		Effects:    len(h.effects),
		derived:    len(h.counted),
	}
	published := firsts(h.topic)
	first := firstEffects(h.effects)
	told, doubleTold := causes(h.counted)

	v.DuplicatesSeen = max(0, h.acked-len(first))
	v.repeats(h, published)
	v.Lost = lost(h, published, first, told)
	v.Double = len(h.effects) - len(first) + doubleTold
	v.Phantom = phantoms(h, published, first, told)
	v.OutOfOrder = disorder(h, published) + disorderedEffects(h, first) + disorderedCounts(h.counted)
	if gap := h.counters - len(h.effects); gap > 0 {
		v.Double += gap
	} else {
		v.Lost -= gap
	}
	v.latency(h, first)
	return v
}

// firsts returns the first record of each id, by id, as its place in the log.
func firsts(log []record) map[string]int {
	first := make(map[string]int, len(log))
	for i, r := range log {
		if _, seen := first[r.id]; !seen {
			first[r.id] = i
		}
	}
	return first
}

// firstEffects returns the first effect of each event.
func firstEffects(effects []effect) map[string]effect {
	first := make(map[string]effect, len(effects))
	for _, e := range effects {
		if f, seen := first[e.id]; !seen || e.at.Before(f.at) {
			first[e.id] = e
		}
	}
	return first
}

// causes returns the events that the consumer's topic reports, and the number of surplus events
// that share a cause with another.
func causes(log []record) (told map[string]bool, tooMany int) {
	told = make(map[string]bool, len(log))
	ids := firsts(log)
	for _, i := range ids {
		told[log[i].cause] = true
	}
	return told, len(ids) - len(told)
}

// lost counts the committed deliveries that are not in the topic, had no effect, or whose effect
// was not reported.
func lost(h history, published map[string]int, first map[string]effect, told map[string]bool) int {
	n := 0
	for id := range h.committed {
		_, sent := published[id]
		_, done := first[id]
		if !sent || !done || !told[id] {
			n++
		}
	}
	return n
}

// phantoms counts the events that were published, or took effect, although no
// transaction has committed them.
func phantoms(h history, published map[string]int, first map[string]effect, told map[string]bool) int {
	made := map[string]bool{}
	add := func(id string) {
		if _, ok := h.committed[id]; !ok {
			made[id] = true
		}
	}
	for id := range published {
		add(id)
	}
	for id := range first {
		add(id)
	}
	for id := range told {
		add(id)
		if _, done := first[id]; !done {
			made[id] = true
		}
	}
	return len(made)
}

// disorder counts the first occurrences in the topic that follow a later commit of their key, or
// are in another partition than the rest of it.
func disorder(h history, published map[string]int) int {
	n := 0
	last := map[string]int64{}
	home := map[string]int32{}
	for i, r := range h.topic {
		d, ok := h.committed[r.id]
		if !ok || published[r.id] != i {
			continue
		}
		at, known := home[d.key]
		if known && at != r.partition || r.key != d.key || d.version <= last[d.key] {
			n++
		}
		home[d.key], last[d.key] = r.partition, max(last[d.key], d.version)
	}
	return n
}

// disorderedEffects counts the first effects that follow that of a later commit of their key.
func disorderedEffects(h history, first map[string]effect) int {
	n := 0
	last := map[string]int64{}
	for _, e := range h.effects { // by key and counter
		d, ok := h.committed[e.id]
		if !ok || first[e.id] != e {
			continue
		}
		if e.key != d.key || d.version <= last[d.key] {
			n++
		}
		last[d.key] = max(last[d.key], d.version)
	}
	return n
}

// disorderedCounts counts the first occurrences of the consumer's own events that follow one of a
// higher count of their key.
func disorderedCounts(log []record) int {
	n := 0
	first := firsts(log)
	last := map[string]int64{}
	for i, r := range log {
		if first[r.id] != i {
			continue
		}
		if r.n <= last[r.key] {
			n++
		}
		last[r.key] = max(last[r.key], r.n)
	}
	return n
}

// percentile returns the value below which the share of sorted lies.
func percentile(sorted []time.Duration, share float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

// latency is the time from the return of a commit to the first effect: over the events of the calm
// phase, and over all, including those that a crash has delayed.
func (v *verdict) latency(h history, first map[string]effect) {
	var calm, all []time.Duration
	for id, at := range h.committedAt {
		e, ok := first[id]
		if !ok {
			continue
		}
		took := max(0, e.at.Sub(at))
		all = append(all, took)
		if h.calm[id] {
			calm = append(calm, took)
		}
	}
	slices.Sort(calm)
	slices.Sort(all)
	v.CalmP50, v.CalmP99 = milliseconds(percentile(calm, 0.50)), milliseconds(percentile(calm, 0.99))
	v.P50, v.P99 = milliseconds(percentile(all, 0.50)), milliseconds(percentile(all, 0.99))
}
