package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// writeModule creates a module with one fuzz target that finds nothing and one that must fail.
func writeModule(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":         "module example.com/m\n\ngo 1.24\n",
		"a/a.go":         "package a\n",
		"a/a_test.go":    "package a\n\nimport \"testing\"\n\nfunc FuzzSound(f *testing.F) {\n\tf.Add(1)\n\tf.Fuzz(func(t *testing.T, n int) {})\n}\n",
		"b/b.go":         "package b\n",
		"b/b_test.go":    "package b\n\nimport \"testing\"\n\nfunc FuzzBroken(f *testing.F) {\n\tf.Fuzz(func(t *testing.T, n int) {\n\t\tif n != 0 {\n\t\t\tt.Fatal(n)\n\t\t}\n\t})\n}\n",
		"c/c.go":         "package c\n",
		"c/none_test.go": "package c\n\nimport \"testing\"\n\nfunc TestNothing(t *testing.T) {}\n",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

// TestRun: a failing target is reported and its input is kept. A run that finds no target is reported,
// too.
//
//leat:level 4
func TestRun(t *testing.T) {
	t.Parallel()
	dir := writeModule(t)
	require.NoError(t, run(t.Context(), []string{"-dir", dir, "-for", "50x", "-parallel", "1", "-run", "Sound"}))
	require.ErrorIs(t, run(t.Context(), []string{"-dir", dir, "-for", "1000x", "-parallel", "1"}), errFailed)
	kept, err := filepath.Glob(filepath.Join(dir, "b", "testdata", "fuzz", "FuzzBroken", "*"))
	require.NoError(t, err)
	require.Len(t, kept, 1)
	require.ErrorIs(t, run(t.Context(), []string{"-dir", dir, "./c"}), errNoTarget)
	require.Error(t, run(t.Context(), []string{"-dir", dir, "-run", "("}))
	require.Error(t, run(t.Context(), []string{"-dir", dir, "./missing"}))
}

func TestExecutions(t *testing.T) {
	t.Parallel()
	require.Zero(t, executions("ok"))
	require.Equal(t, 1234, executions("fuzz: elapsed: 3s, execs: 12 (4/sec)\nfuzz: elapsed: 6s, execs: 1234 (4/sec), new interesting: 1\n"))
}
