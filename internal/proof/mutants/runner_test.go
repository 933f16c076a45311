package mutants

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/repo"
	"github.com/leat-go/leat/internal/testlevel"
)

// toy writes a module with one rule, half of it in an embedded file, and its tests.
func toy(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":   "module toy\n\ngo 1.26\n",
		"rule.txt": "yes\n",
		"toy.go": `package toy

import _ "embed"

//go:embed rule.txt
var Rule string

func Double(n int) int { return 2 * n }

func Wait() bool { return false }
`,
		"toy_test.go": `package toy

import (
	"testing"
	"time"
)

func TestDouble(t *testing.T) {
	t.Run("two", func(t *testing.T) {
		if Double(2) != 4 {
			t.Fatal("not 4")
		}
	})
}

func TestRule(t *testing.T) {
	if Rule != "yes\n" {
		t.Fatal(Rule)
	}
}

func TestWait(t *testing.T) {
	if Wait() {
		<-time.After(time.Hour)
	}
}

func TestRed(t *testing.T) { t.Fatal("always") }

func TestSkipped(t *testing.T) { t.Skip("always") }

func TestMain(m *testing.M) {
	m.Run()
	if Double(3) == 7 {
		panic("stray")
	}
}
`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// TestRun_Verdicts: the runner distinguishes all outcomes of a mutant, also of one in an embedded file,
// and does not count just any failure as a kill.
//
//leat:level 4
func TestRun_Verdicts(t *testing.T) {
	t.Parallel()
	double := Mutant{File: "toy.go", Old: "return 2 * n", Test: "TestDouble/two"}
	with := func(m Mutant, change func(m *Mutant)) Mutant {
		m.Package = "."
		change(&m)
		return m
	}
	tests := []struct {
		name string
		m    Mutant
		want Verdict
		says string
	}{
		{"killed", with(double, func(m *Mutant) { m.New = "return 3 * n" }), Killed, "not 4"},
		{"survives", with(double, func(m *Mutant) { m.New = "return n + n" }), Survived, "passes"},
		{"does not compile", with(double, func(m *Mutant) { m.New = "return m" }), BadMutant, "compile"},
		{"text is not there", with(double, func(m *Mutant) { m.Old, m.New = "return 5 * n", "return n" }), BadMutant, "exactly once"},
		{"another failure", with(double, func(m *Mutant) { m.New = "if n == 3 { return 7 }; return 2 * n" }), Strayed, "stray"},
		{"panics", with(double, func(m *Mutant) { m.New = `panic("gone")` }), Killed, "gone"},
		{"embedded", with(Mutant{File: "rule.txt", Old: "yes", New: "no", Test: "TestRule"}, func(*Mutant) {}), Killed, "no"},
		{"no such test", with(double, func(m *Mutant) { m.New, m.Test = "return n", "TestDouble/three" }), BadMutant, "without the mutant"},
		{"is red anyway", with(double, func(m *Mutant) { m.New, m.Test = "return n", "TestRed" }), BadMutant, "without the mutant"},
		{"is skipped", with(double, func(m *Mutant) { m.New, m.Test = "return n", "TestSkipped" }), BadMutant, "skipped"},
		{"hangs", with(double, func(m *Mutant) { m.Old, m.New, m.Test = "return false", "return true", "TestWait" }), TimedOut, "in time"},
		{"hangs as declared", with(double, func(m *Mutant) {
			m.Old, m.New, m.Test, m.Hangs = "return false", "return true", "TestWait", true
		}), Killed, "hangs"},
	}
	list := make([]Mutant, len(tests))
	for i, tt := range tests {
		list[i] = tt.m
		list[i].Name = tt.name
	}
	reported := 0
	r, err := New(Config{Root: toy(t), Timeout: 10 * time.Second, Report: func(Result) { reported++ }})
	require.NoError(t, err)
	results := r.Run(t.Context(), list)
	require.Len(t, results, len(list))
	require.Equal(t, len(list), reported)
	for i, tt := range tests {
		require.Equal(t, tt.want, results[i].Verdict, "%s: %s", tt.name, results[i].Detail)
		require.Contains(t, results[i].Detail, tt.says, tt.name)
	}
}

// TestRun_SomeOfOurs tries a few of leat's own mutants whose tests need no server.
//
//leat:level 4
func TestRun_SomeOfOurs(t *testing.T) {
	t.Parallel()
	root, err := repo.Root(".")
	require.NoError(t, err)
	var list []Mutant
	for _, m := range All() {
		switch m.Name {
		case "busy-is-acked", "highest-acked-offset", "skip-in-another-history", "advance-before-the-ack":
			require.Zero(t, m.Needs, m.Name)
			list = append(list, m)
		}
	}
	require.Len(t, list, 4)
	r, err := New(Config{Root: root})
	require.NoError(t, err)
	for _, result := range r.Run(t.Context(), list) {
		require.Equal(t, Killed, result.Verdict, "%s: %s", result.Mutant.Name, result.Detail)
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	list := All()
	results := []Result{
		{Mutant: list[0], Verdict: Killed, Took: 1500 * time.Millisecond},
		{Mutant: list[1], Verdict: Survived},
	}
	var b bytes.Buffer
	require.NoError(t, Markdown(&b, results, map[string]testlevel.Level{list[0].Name: testlevel.Servers}, false))
	text := b.String()
	require.Contains(t, text, "2 mutations, 1 noticed, 1 of them by a test of level 0 or 1. "+proven)
	require.Contains(t, text, "| 1 | 1.5s |")
	require.Equal(t, 1, strings.Count(text, "SURVIVED"))

	b.Reset()
	require.NoError(t, Markdown(&b, results, map[string]testlevel.Level{list[0].Name: testlevel.Private}, true))
	require.Contains(t, b.String(), "2 mutations, 1 noticed, 0 of them by a test of level 0 or 1. "+unproven)
}

func TestNew_RefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{
		"Root": {}, "Parallel": {Root: ".", Parallel: 65}, "Timeout": {Root: ".", Timeout: time.Millisecond},
	} {
		_, err := New(cfg)
		require.ErrorContains(t, err, "Config."+name)
	}
}
