package mutants

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/repo"
	"github.com/leat-go/leat/internal/testlevel"
)

// TestListFitsTheSources: each text occurs exactly once, the mutated file can be parsed, and each test
// exists, so that the list cannot become outdated unnoticed.
func TestListFitsTheSources(t *testing.T) {
	t.Parallel()
	c := sources(t)
	names := make(map[string]bool)
	for _, m := range All() {
		if err := c.check(&m); err != nil {
			t.Errorf("%s: %v", m.Name, err) // all that does not fit, at once
		}
		require.False(t, names[m.Name], "two are called %s", m.Name)
		names[m.Name] = true
	}
}

// TestNineInTenAreNoticedByEarlyTests: make test runs levels 0 and 1. A promise that only later levels
// check may be broken for several commits before it is noticed.
func TestNineInTenAreNoticedByEarlyTests(t *testing.T) {
	t.Parallel()
	root, err := repo.Root(".")
	require.NoError(t, err)
	levels, err := Levels(os.DirFS(root), All())
	require.NoError(t, err)
	var late []string
	for name, level := range levels {
		if level > testlevel.Servers {
			late = append(late, name)
		}
	}
	require.LessOrEqual(t, 10*len(late), len(levels), "noticed by tests of levels 2 and 4 alone: %v", late)
}

// TestEveryPromiseIsBroken: each numbered promise has a mutant that breaks it.
func TestEveryPromiseIsBroken(t *testing.T) {
	t.Parallel()
	require.Len(t, Promises(), 36)
	require.Empty(t, Unbroken(All()))
	require.Equal(t, Promises(), Unbroken(nil), "the check itself")
}

// TestCheckRefuses: the check finds each mistake it is meant for.
func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	c := sources(t)
	sound := All()[0]
	require.NoError(t, c.check(&sound))
	for name, spoil := range map[string]func(m *Mutant){
		"no such text":    func(m *Mutant) { m.Old = "not in the file at all" },
		"text twice":      func(m *Mutant) { m.Old = "return" },
		"no change":       func(m *Mutant) { m.New = m.Old },
		"no such file":    func(m *Mutant) { m.File = "outbox/nothing.go" },
		"cannot be read":  func(m *Mutant) { m.New = "if (" },
		"no such test":    func(m *Mutant) { m.Test = "TestO1_NotThere" },
		"no such subtest": func(m *Mutant) { m.Test += "/not_there" },
		"no promise":      func(m *Mutant) { m.Breaks = nil },
	} {
		m := sound
		spoil(&m)
		require.Error(t, c.check(&m), name)
	}
}

func sources(t *testing.T) *checker {
	t.Helper()
	root, err := repo.Root(".")
	require.NoError(t, err)
	c, err := newChecker(os.DirFS(root))
	require.NoError(t, err)
	return c
}
