package testlevel

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

// Level is how much a test needs in order to run.
type Level int

// The levels.
const (
	Memory        Level = 0
	Servers       Level = 1
	Configuration Level = 2
	Private       Level = 4
)

// Levels returns all levels that a test can have, in ascending order.
func Levels() []Level { return []Level{Memory, Servers, Configuration, Private} }

// ErrLevel is returned for a level that does not exist.
var ErrLevel = errors.New("testlevel: there is no such level")

// ParseLevel reads a level.
func ParseLevel(text string) (Level, error) {
	n, err := strconv.Atoi(text)
	if err != nil || !slices.Contains(Levels(), Level(n)) {
		return 0, fmt.Errorf("%w: %q: use 0, 1, 2 or 4 (3 is make test-race; 5 is make soak, mutants and bench)", ErrLevel, text)
	}
	return Level(n), nil
}

// Choice selects the tests to run: those of some levels, or a slice of a level. The zero value
// selects none.
type Choice struct {
	slices map[Level]int // number of slices that a level is cut into; 1 selects all of it
	commit int           // number that selects the slice
}

// ParseChoice reads levels, separated by commas, such as 0,1,2/6: all of levels 0 and 1, and a sixth of
// level 2. commit selects the slice: successive numbers select all slices in turn.
func ParseChoice(text string, commit int) (Choice, error) {
	c := Choice{slices: map[Level]int{}, commit: commit}
	for part := range strings.SplitSeq(text, ",") {
		name, cut, sliced := strings.Cut(part, "/")
		level, err := ParseLevel(name)
		if err != nil {
			return Choice{}, err
		}
		n := 1
		if sliced {
			if n, err = strconv.Atoi(cut); err != nil || n < 1 {
				return Choice{}, fmt.Errorf("%w: %q: after the slash stands in how many slices the level is cut, such as 2/6", ErrLevel, part)
			}
		}
		c.slices[level] = n
	}
	return c, nil
}

// Takes reports whether test t of package p is selected.
func (c Choice) Takes(p *Package, t Test) bool {
	n := c.slices[t.Level]
	if n < 2 {
		return n == 1
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(p.Dir + " " + t.Name)) // it never fails
	return int(h.Sum32()>>1)%n == c.commit%n
}
