package history

import (
	"cmp"
	"slices"
)

// Counts says whether the fault struck while work was under way and was seen to have
// a consequence.
func (l Line) Counts() bool { return l.Type == Fault && l.Inflight > 0 && l.Consequence != "" }

// countFaults counts the faults by point and kind.
func countFaults(faults []Line) []FaultCount {
	type name struct{ point, kind string }
	at := map[name]int{}
	var counts []FaultCount
	for _, f := range faults {
		n := name{f.Point, f.Kind}
		i, ok := at[n]
		if !ok {
			i = len(counts)
			at[n] = i
			counts = append(counts, FaultCount{Point: f.Point, Kind: f.Kind})
		}
		c := &counts[i]
		c.Injected++
		if f.Counts() {
			c.Counted++
		}
		if f.Consequence != "" {
			if c.Consequences == nil {
				c.Consequences = map[string]int{}
			}
			c.Consequences[f.Consequence]++
		}
	}
	slices.SortFunc(counts, func(a, b FaultCount) int {
		return cmp.Or(cmp.Compare(a.Point, b.Point), cmp.Compare(a.Kind, b.Kind))
	})
	return counts
}
