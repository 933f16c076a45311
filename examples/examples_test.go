package examples_test

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

//leat:level 1
func TestMain(m *testing.M) { testenv.Main(m) }

// stopGrace is how long an example that is told to stop may clean up.
const stopGrace = 20 * time.Second

// TestExamples runs every example that has an expected.txt, on real servers, and
// compares what it prints.
//
//leat:level 4
func TestExamples(t *testing.T) {
	t.Parallel()
	expected, err := filepath.Glob("*/expected.txt")
	require.NoError(t, err)
	require.NotEmpty(t, expected)
	environment := append(os.Environ(),
		testenv.EnvPostgres+"="+testenv.Postgres(t).URL,
		testenv.EnvKafka+"="+strings.Join(testenv.Kafka(t).Brokers, ","),
	)
	bin := build(t, expected)

	for _, file := range expected {
		name := filepath.Dir(file)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			binary := filepath.Join(bin, name)
			require.Equal(t, string(want), output(t, binary, environment))
			interrupt(t, binary, environment)
		})
	}
}

// TestExamplesAreComplete sees to it that an example that nothing runs does not go unnoticed.
func TestExamplesAreComplete(t *testing.T) {
	t.Parallel()
	mains, err := filepath.Glob("*/main.go")
	require.NoError(t, err)
	for _, main := range mains {
		dir := filepath.Dir(main)
		if _, err := os.Stat(filepath.Join(dir, "main_test.go")); err == nil {
			continue // a test of its own runs it
		}
		require.FileExists(t, filepath.Join(dir, "expected.txt"))
	}
}

// build compiles the examples beside these files, and returns the directory of their
// binaries.
func build(t *testing.T, files []string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	args := []string{"build", "-ldflags=-s -w", "-o", dir}
	for _, file := range files {
		args = append(args, "./"+filepath.Dir(file))
	}
	out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

// output runs an example to its end and returns what it printed. If it hangs it
// is asked to stop as an operator would ask it, so that it cleans up.
func output(t *testing.T, binary string, environment []string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, binary)
	cmd.Env, cmd.Stdout, cmd.Stderr = environment, &stdout, &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopGrace
	require.NoError(t, cmd.Run(), "stdout: %s\nstderr: %s", stdout.String(), stderr.String())
	return stdout.String()
}

// interrupt starts an example, asks it to stop while it is at work, and sees
// that it ends of its own accord.
func interrupt(t *testing.T, binary string, environment []string) {
	t.Helper()
	var rest bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Env, cmd.WaitDelay = environment, stopGrace
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())

	lines := bufio.NewReader(stderr)
	_, err = lines.ReadString('\n') // it has told which servers it found
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	_, err = rest.ReadFrom(lines)
	require.NoError(t, err)
	_ = cmd.Wait() // whether it had come to its end by then does not matter

	require.True(t, cmd.ProcessState.Exited(), "it was killed: %s", rest.String())
	require.NotContains(t, rest.String(), "panic")
}
