package mutants

import (
	"context"
	"slices"
	"sync"
	"time"
)

// baselineTime bounds the run of all named tests of a package without a mutant.
const baselineTime = 20 * time.Minute

// baselines are the results of the named tests without a mutant, by package. The tests of a package are
// run together and once, before the first mutant that needs one of them.
type baselines map[string]*baseline

type baseline struct {
	once sync.Once
	run  goTest
	rep  *report
	err  error
}

func newBaselines(cfg Config, list []Mutant) baselines {
	all := make(baselines)
	for i := range list {
		m := &list[i]
		b := all[m.Package]
		if b == nil {
			b = &baseline{run: goTest{root: cfg.Root, pkg: m.Package, timeout: baselineTime}}
			all[m.Package] = b
		}
		if !slices.Contains(b.run.tests, m.Test) {
			b.run.tests = append(b.run.tests, m.Test)
		}
	}
	return all
}

// wrong describes why the test of m does not prove anything. It is empty if the test passes without m.
func (all baselines) wrong(ctx context.Context, m *Mutant) (string, error) {
	b := all[m.Package]
	b.once.Do(func() { b.rep, b.err = b.run.do(ctx) })
	if b.err != nil {
		return "", b.err
	}
	return b.rep.wrong(m.Test), nil
}
