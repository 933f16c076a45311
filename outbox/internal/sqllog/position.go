package sqllog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Position is the set of numbers of the log that were read: all up to last except those in
// gaps. A number is in gaps because its transaction was open when a higher number was read, or
// was rolled back. Only a row with the number removes it: nothing expires, so no row is skipped,
// whatever the order of commits.

// Span is a run of numbers, both ends included.
type Span struct {
	From, To int64
}

// Position is a value: methods that change something return a new one.
type Position struct {
	Last int64
	Gaps []Span // ascending, apart, none above last
}

// Seen returns the position after the rows with these numbers were read, ascending.
func (p Position) Seen(numbers []int64) Position {
	if len(numbers) == 0 {
		return p
	}
	late := 0
	for late < len(numbers) && numbers[late] <= p.Last {
		late++
	}
	p.Gaps = without(p.Gaps, numbers[:late])
	for _, n := range numbers[late:] {
		if n > p.Last+1 {
			p.Gaps = append(p.Gaps, Span{p.Last + 1, n - 1})
		}
		p.Last = n
	}
	return p
}

// without returns a copy of gaps that lacks numbers, which are ascending.
func without(gaps []Span, numbers []int64) []Span {
	left := make([]Span, 0, len(gaps)+len(numbers))
	for _, g := range gaps {
		for len(numbers) > 0 && numbers[0] <= g.To {
			n := numbers[0]
			numbers = numbers[1:]
			if n < g.From {
				continue
			}
			if n > g.From {
				left = append(left, Span{g.From, n - 1})
			}
			g.From = n + 1
		}
		if g.From <= g.To {
			left = append(left, g)
		}
	}
	return left
}

// From returns the position of a reader that never reads numbers up to floor.
func (p Position) From(floor int64) Position {
	var left []Span
	for _, g := range p.Gaps {
		if g.To > floor {
			left = append(left, Span{max(g.From, floor+1), g.To})
		}
	}
	return Position{max(p.Last, floor), left}
}

// UpTo returns the part of the position up to number n.
func (p Position) UpTo(n int64) Position {
	if n >= p.Last {
		return p
	}
	var left []Span
	for _, g := range p.Gaps {
		if g.From <= n {
			left = append(left, Span{g.From, min(g.To, n)})
		}
	}
	return Position{n, left}
}

// equals reports whether both positions are the same.
func (p Position) equals(q Position) bool {
	return p.Last == q.Last && slices.Equal(p.Gaps, q.Gaps)
}

// Low is the number up to which there are no gaps.
func (p Position) Low() int64 {
	if len(p.Gaps) > 0 {
		return p.Gaps[0].From - 1
	}
	return p.Last
}

// Misses reports whether the row with number n was not read.
func (p Position) Misses(n int64) bool {
	_, found := slices.BinarySearchFunc(p.Gaps, n, func(g Span, n int64) int {
		switch {
		case g.To < n:
			return -1
		case g.From > n:
			return 1
		default:
			return 0
		}
	})
	return n > p.Last || found
}

// EncodeGaps writes gaps as text, such as "4-7,9-9".
func EncodeGaps(gaps []Span) string {
	var b []byte
	for i, g := range gaps {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, g.From, 10)
		b = append(b, '-')
		b = strconv.AppendInt(b, g.To, 10)
	}
	return string(b)
}

// ParsePosition is the inverse of EncodeGaps, with last.
func ParsePosition(last int64, gaps string) (Position, error) {
	p := Position{Last: last}
	if gaps == "" {
		return p, nil
	}
	before := int64(-1)
	for part := range strings.SplitSeq(gaps, ",") {
		left, right, _ := strings.Cut(part, "-")
		from, err1 := strconv.ParseInt(left, 10, 64)
		to, err2 := strconv.ParseInt(right, 10, 64)
		if err1 != nil || err2 != nil || from <= before || to < from || to > last {
			return Position{}, fmt.Errorf("leat: gaps %.100q do not fit number %d", gaps, last)
		}
		p.Gaps, before = append(p.Gaps, Span{from, to}), to
	}
	return p, nil
}
