package testlevel

import (
	"regexp"
	"strings"
)

// Selection contains the arguments of go test for some tests: the packages, and for each of them the tests
// to skip.
type Selection struct {
	// Packages are the directories of the packages whose tests run, from the root, in the order of Scan.
	Packages []string
	// Skip is the argument of -skip for each package that runs only a part of its tests.
	Skip map[string]string
	// Chosen and Left count tests by level, without sub-tests. Left are those that do not run.
	Chosen, Left map[Level]int
}

// Select returns the tests that a choice takes.
func Select(packages []*Package, c Choice) Selection {
	s := Selection{Skip: map[string]string{}, Chosen: map[Level]int{}, Left: map[Level]int{}}
	for _, p := range packages {
		var others []string
		for _, t := range p.Tests {
			if c.Takes(p, t) {
				s.Chosen[t.Level]++
			} else {
				s.Left[t.Level]++
				others = append(others, regexp.QuoteMeta(t.Name))
			}
		}
		if len(others) == len(p.Tests) {
			continue
		}
		s.Packages = append(s.Packages, p.Dir)
		if len(others) > 0 {
			s.Skip[p.Dir] = "^(" + strings.Join(others, "|") + ")$"
		}
	}
	return s
}
