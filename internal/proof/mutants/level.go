package mutants

import (
	"fmt"
	"io/fs"

	"github.com/leat-go/leat/internal/testlevel"
)

// Levels returns the level of the test of each mutant, by the mutant's name.
func Levels(tree fs.FS, list []Mutant) (map[string]testlevel.Level, error) {
	packages, err := testlevel.Scan(tree)
	if err != nil {
		return nil, err
	}
	byDir := make(map[string]*testlevel.Package, len(packages))
	for _, p := range packages {
		byDir[p.Dir] = p
	}
	levels := make(map[string]testlevel.Level, len(list))
	for i := range list {
		m := &list[i]
		p := byDir[m.Package]
		if p == nil {
			return nil, fmt.Errorf("%w: %s: no tests in %s", errNoTest, m.Name, m.Package)
		}
		level, ok := p.Level(m.topLevel())
		if !ok {
			return nil, fmt.Errorf("%w: %s: %s in %s", errNoTest, m.Name, m.topLevel(), m.Package)
		}
		levels[m.Name] = level
	}
	return levels, nil
}
