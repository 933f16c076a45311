package results_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/results"
)

// run returns a directory of results of the day with that number.
func run(t *testing.T, day, modules, servers, samples string) string {
	t.Helper()
	dir := t.TempDir()
	environment := `{"date": "2026-01-0` + day + `T00:00:00Z", "scale": "full", "commit": "c` + day + `",
		"modules": {` + modules + `}, "servers": [` + servers + `]}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, results.EnvironmentName), []byte(environment), 0o600))
	text := "benchmark,contender,unit,round,value\n" + samples
	require.NoError(t, os.WriteFile(filepath.Join(dir, results.SamplesName), []byte(text), 0o600))
	return dir
}

func TestABenchmarkThatRunsAgainTakesThePlaceOfItself(t *testing.T) {
	t.Parallel()
	first := run(t, "1", `"m": "v1"`,
		`{"name": "P", "version": "15", "benchmarks": ["A/x", "B/y", "C"]}, {"name": "K", "version": "4", "benchmarks": ["B/y"]}`,
		"A/x,leat,msg/s,0,1\nB/y,leat,msg/s,0,2\nB/y,raw,msg/s,0,3\nC,leat,msg/s,0,4\n")
	later := run(t, "2", `"m": "v1", "n": "v3"`, `{"name": "P", "version": "15", "benchmarks": ["B/y"]}, {"name": "R", "version": "7", "benchmarks": ["B/z"]}`,
		"B/y,leat,msg/s,0,20\nB/y,leat,msg/s,1,21\nB/z,leat,msg/s,0,22\n")
	merged := filepath.Join(t.TempDir(), "made")
	require.NoError(t, results.Merge(merged, first, later))

	text, err := os.ReadFile(filepath.Join(merged, results.SamplesName))
	require.NoError(t, err)
	require.Equal(t, []string{
		"benchmark,contender,unit,round,value", "A/x,leat,msg/s,0,1", "C,leat,msg/s,0,4",
		"B/y,leat,msg/s,0,20", "B/y,leat,msg/s,1,21", "B/z,leat,msg/s,0,22",
	}, strings.Fields(string(text)), "the other contender of B/y was not measured with these")
	e, err := results.LoadEnvironment(merged)
	require.NoError(t, err)
	require.Equal(t, "c1", e.Commit)
	require.Equal(t, map[string]string{"m": "v1", "n": "v3"}, e.Modules, "what only one of them needs does not keep them apart")
	require.Equal(t, []results.Server{
		{Name: "P", Version: "15", Benchmarks: []string{"A/x", "C", "B/y"}}, {Name: "R", Version: "7", Benchmarks: []string{"B/z"}},
	}, e.Servers)
	require.Len(t, e.Again, 1)
	require.Equal(t, []string{"B"}, e.Again[0].Benchmarks)
	require.Equal(t, "c2", e.Again[0].Commit)

	third, twice := run(t, "3", `"m": "v1"`, "", "B/y,leat,msg/s,0,200\n"), t.TempDir()
	require.NoError(t, results.Merge(twice, merged, third))
	e, err = results.LoadEnvironment(twice)
	require.NoError(t, err)
	require.Len(t, e.Again, 1, "of the second run nothing is left")
	require.Equal(t, "c3", e.Again[0].Commit)
	require.Error(t, results.Merge(t.TempDir(), first, twice))
}

func TestRunsThatCannotBeComparedAreNotMerged(t *testing.T) {
	t.Parallel()
	first, later := run(t, "1", `"m": "v1"`, "", "A,leat,msg/s,0,1\n"), run(t, "2", `"m": "v2"`, "", "A,leat,msg/s,0,1\n")
	merged := filepath.Join(t.TempDir(), "made")
	require.ErrorContains(t, results.Merge(merged, first, later), "differ in modules")
	require.NoDirExists(t, merged)
	require.Error(t, results.Merge(merged, first, t.TempDir()))
	require.Error(t, results.Merge(merged, t.TempDir(), later))
}
