package history

import (
	"cmp"
	"maps"
	"slices"
)

// Counts reports whether the fault struck while work was under way and was seen to have
// a consequence.
func (l Line) Counts() bool { return l.Type == Fault && l.Inflight > 0 && l.Consequence != "" }

// FaultTotals sum up the faults of a history.
type FaultTotals struct {
	// Injected is how many struck, Counted how many of them count.
	Injected, Counted int
	// Points is at how many points a fault counts, Pairs of how many points and kinds.
	Points, Pairs int
	// Least is how many faults count at LeastAt, the point that has fewest.
	Least   int
	LeastAt string
}

// TotalFaults sums up the counts.
func TotalFaults(counts []FaultCount) FaultTotals {
	var t FaultTotals
	points := map[string]int{}
	for _, f := range counts {
		t.Injected += f.Injected
		t.Counted += f.Counted
		points[f.Point] += f.Counted
		if f.Counted > 0 {
			t.Pairs++
		}
	}
	for _, point := range slices.Sorted(maps.Keys(points)) {
		if points[point] > 0 {
			t.Points++
		}
		if t.LeastAt == "" || points[point] < t.Least {
			t.Least, t.LeastAt = points[point], point
		}
	}
	return t
}

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
