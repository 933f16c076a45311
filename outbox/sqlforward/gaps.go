package sqlforward

import (
	"fmt"
	"slices"
	"strings"
)

// gap is a run of numbers that were not seen, both ends included, and the moment of the
// database's clock, in microseconds, at which that was noticed.
type gap struct {
	from, to, since int64
}

// position is the part of a table that was read: all numbers up to last except those in gaps. It is a
// value.
type position struct {
	last int64
	gaps []gap // ascending, apart, none above last
}

// after returns the position after rows with these numbers were seen, ascending, at now.
func (p position) after(numbers []int64, now int64) position {
	left := slices.Clone(p.gaps)
	for _, n := range numbers {
		if n <= p.last {
			left = punch(left, n)
			continue
		}
		if n > p.last+1 {
			left = append(left, gap{p.last + 1, n - 1, now})
		}
		p.last = n
	}
	return position{p.last, left}
}

// punch removes n from gaps, which it may change.
func punch(gaps []gap, n int64) []gap {
	i, found := slices.BinarySearchFunc(gaps, n, func(g gap, n int64) int {
		switch {
		case g.to < n:
			return -1
		case g.from > n:
			return 1
		default:
			return 0
		}
	})
	if !found {
		return gaps
	}
	g := gaps[i]
	var rest []gap
	if g.from < n {
		rest = append(rest, gap{g.from, n - 1, g.since})
	}
	if n < g.to {
		rest = append(rest, gap{n + 1, g.to, g.since})
	}
	return slices.Replace(gaps, i, i+1, rest...)
}

// without returns the position without the gaps in dead, if they are unchanged.
func (p position) without(dead []gap) position {
	return position{p.last, slices.DeleteFunc(slices.Clone(p.gaps), func(g gap) bool { return slices.Contains(dead, g) })}
}

// low is the number up to which there are no gaps.
func (p position) low() int64 {
	if len(p.gaps) > 0 {
		return p.gaps[0].from - 1
	}
	return p.last
}

// encode writes gaps as text, such as "4-7@1700000000000000,9-9@1700000000000001".
func encode(gaps []gap) []byte {
	b := []byte{}
	for i, g := range gaps {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%d-%d@%d", g.from, g.to, g.since)
	}
	return b
}

// parse is the inverse of encode, with last.
func parse(last int64, text string) (position, error) {
	p := position{last: last}
	if text == "" {
		return p, nil
	}
	before := int64(-1)
	for part := range strings.SplitSeq(text, ",") {
		var g gap
		_, err := fmt.Sscanf(part, "%d-%d@%d", &g.from, &g.to, &g.since)
		if err != nil || g.from <= before || g.to < g.from || g.to > last {
			return position{}, fmt.Errorf("leat: gaps %.100q do not fit number %d", text, last)
		}
		p.gaps, before = append(p.gaps, g), g.to
	}
	return p, nil
}
