package points

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/leat-go/leat/internal/failpoint"
)

// Audit returns the defects of a tree: points that code does not reach, kinds of failure without a check
// at a point, and checks that claim more than their test does.
func Audit(root string, checks []Check) ([]string, error) {
	declared, err := Declarations(root)
	if err != nil {
		return nil, err
	}
	reached, err := Reached(root)
	if err != nil {
		return nil, err
	}
	var wrong []string
	for _, d := range declared {
		if len(reached[d.Const]) == 0 {
			wrong = append(wrong, fmt.Sprintf("%s is reached by no code", d.Name))
		}
		if missing := untested(d.Name, checks); len(missing) > 0 {
			wrong = append(wrong, fmt.Sprintf("%s is never tested with: %s", d.Name, strings.Join(missing, ", ")))
		}
	}
	packages := map[string]tests{}
	for _, c := range checks {
		if packages[c.Package] == nil {
			if packages[c.Package], err = parseTests(filepath.Join(root, filepath.FromSlash(c.Package))); err != nil {
				return nil, err
			}
		}
		wrong = append(wrong, c.audit(packages[c.Package], declared)...)
	}

	return wrong, nil
}

func untested(point failpoint.Name, checks []Check) (kinds []string) {
	for _, kind := range Kinds() {
		if !slices.ContainsFunc(checks, func(c Check) bool { return c.covers(point, kind) }) {
			kinds = append(kinds, string(kind))
		}
	}

	return kinds
}

// audit returns the claims of the check that its test does not mention. all contains the test.
func (c Check) audit(all tests, declared []Declared) []string {
	words, err := all.words(c.Test)
	if err != nil {
		return []string{fmt.Sprintf("%s: %v", c.Package, err)}
	}
	var wrong []string
	for _, point := range c.Points {
		i := slices.IndexFunc(declared, func(d Declared) bool { return d.Name == point })
		if i < 0 {
			wrong = append(wrong, fmt.Sprintf("%s is not a point, which %s is said to arm", point, c.Test))
		} else if _, ok := words["failpoint."+declared[i].Const]; !ok {
			wrong = append(wrong, fmt.Sprintf("%s does not mention %s", c.Test, point))
		}
	}
	for _, kind := range c.Kinds {
		if !mentions(words, kind) {
			wrong = append(wrong, fmt.Sprintf("%s has nothing of kind %s", c.Test, kind))
		}
	}
	if len(c.Invariants()) == 0 {
		wrong = append(wrong, c.Test+" names no invariant")
	}

	return wrong
}

func mentions(words map[string]struct{}, kind Kind) bool {
	for word := range words {
		if kind.shows(word) {
			return true
		}
	}

	return false
}
