package sqloutbox

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A position says which numbers of the log were read: all up to last but those in gaps.
// A number is in gaps because its transaction was open when a higher number was read, or
// was rolled back. Only a row with the number takes it out: nothing is forgotten by time,
// so no row is skipped, whatever commits when.

// span is a run of numbers, both ends included.
type span struct {
	from, to int64
}

// position is a value: its methods that change something return another one.
type position struct {
	last int64
	gaps []span // ascending, apart, none above last
}

// seen returns the position after the rows with these numbers were read, ascending.
func (p position) seen(numbers []int64) position {
	if len(numbers) == 0 {
		return p
	}
	late := 0
	for late < len(numbers) && numbers[late] <= p.last {
		late++
	}
	p.gaps = without(p.gaps, numbers[:late])
	for _, n := range numbers[late:] {
		if n > p.last+1 {
			p.gaps = append(p.gaps, span{p.last + 1, n - 1})
		}
		p.last = n
	}
	return p
}

// without returns a copy of gaps that lacks numbers, which are ascending.
func without(gaps []span, numbers []int64) []span {
	left := make([]span, 0, len(gaps)+len(numbers))
	for _, g := range gaps {
		for len(numbers) > 0 && numbers[0] <= g.to {
			n := numbers[0]
			numbers = numbers[1:]
			if n < g.from {
				continue
			}
			if n > g.from {
				left = append(left, span{g.from, n - 1})
			}
			g.from = n + 1
		}
		if g.from <= g.to {
			left = append(left, g)
		}
	}
	return left
}

// from returns the position of one who never reads numbers up to floor.
func (p position) from(floor int64) position {
	var left []span
	for _, g := range p.gaps {
		if g.to > floor {
			left = append(left, span{max(g.from, floor+1), g.to})
		}
	}
	return position{max(p.last, floor), left}
}

// upTo returns the part of the position that is about numbers up to n.
func (p position) upTo(n int64) position {
	if n >= p.last {
		return p
	}
	var left []span
	for _, g := range p.gaps {
		if g.from <= n {
			left = append(left, span{g.from, min(g.to, n)})
		}
	}
	return position{n, left}
}

// equals reports whether the same was read.
func (p position) equals(q position) bool {
	return p.last == q.last && slices.Equal(p.gaps, q.gaps)
}

// low is the number up to which nothing is missing.
func (p position) low() int64 {
	if len(p.gaps) > 0 {
		return p.gaps[0].from - 1
	}
	return p.last
}

// misses reports whether the row with number n was not read.
func (p position) misses(n int64) bool {
	_, found := slices.BinarySearchFunc(p.gaps, n, func(g span, n int64) int {
		switch {
		case g.to < n:
			return -1
		case g.from > n:
			return 1
		default:
			return 0
		}
	})
	return n > p.last || found
}

// encodeGaps writes gaps as text, such as "4-7,9-9".
func encodeGaps(gaps []span) string {
	var b []byte
	for i, g := range gaps {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, g.from, 10)
		b = append(b, '-')
		b = strconv.AppendInt(b, g.to, 10)
	}
	return string(b)
}

// parsePosition is the inverse of encodeGaps, beside last.
func parsePosition(last int64, gaps string) (position, error) {
	p := position{last: last}
	if gaps == "" {
		return p, nil
	}
	before := int64(-1)
	for part := range strings.SplitSeq(gaps, ",") {
		left, right, _ := strings.Cut(part, "-")
		from, err1 := strconv.ParseInt(left, 10, 64)
		to, err2 := strconv.ParseInt(right, 10, 64)
		if err1 != nil || err2 != nil || from <= before || to < from || to > last {
			return position{}, fmt.Errorf("leat: gaps %.100q do not fit number %d", gaps, last)
		}
		p.gaps, before = append(p.gaps, span{from, to}), to
	}
	return p, nil
}
