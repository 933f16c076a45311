package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// module is the directory in which go test runs.
type module struct {
	dir      string
	parallel int
}

// target is a fuzz target.
type target struct {
	pkg, name string
}

// list returns the targets of packages. It reads the test files that go list names. Asking each package's
// tests would require building them all.
func (m module) list(ctx context.Context, packages []string) (targets []target, err error) {
	args := append([]string{"list", "-f", `{{.ImportPath}} {{.Dir}} {{join .TestGoFiles " "}} {{join .XTestGoFiles " "}}`}, packages...)
	out, err := m.goTool(ctx, args...)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		for i := 2; i < len(fields); i++ {
			names, err := declared(filepath.Join(fields[1], fields[i]))
			if err != nil {
				return nil, err
			}
			for _, name := range names {
				targets = append(targets, target{fields[0], name})
			}
		}
	}
	return targets, nil
}

var declares = regexp.MustCompile(`(?m)^func (Fuzz\w*)\(\w+ \*testing\.F\)`)

// declared returns the names of the targets in a file.
func declared(file string) (names []string, err error) {
	raw, err := os.ReadFile(file) //nolint:gosec // go list names it
	for _, found := range declares.FindAllSubmatch(raw, -1) {
		names = append(names, string(found[1]))
	}
	return names, err
}

// fuzz runs one target after the other. It goes on if one fails.
func (m module) fuzz(ctx context.Context, targets []target, span string) error {
	if len(targets) == 0 {
		return errNoTarget
	}
	failed, total := 0, 0
	for _, t := range targets {
		began := time.Now()
		out, err := m.goTool(ctx, m.arguments(t, span)...)
		if ended := ctx.Err(); ended != nil {
			return ended
		}
		execs := executions(out)
		total += execs
		outcome := "ok  "
		if err != nil {
			outcome = "FAIL"
			failed++
		}
		fmt.Printf("%s %s.%s %d executions in %s\n", outcome, t.pkg, t.name, execs, time.Since(began).Round(time.Second))
		if err != nil {
			fmt.Println(err)
		}
	}
	fmt.Printf("%d targets, %d executions, %d failed\n", len(targets), total, failed)
	if failed > 0 {
		return fmt.Errorf("%d %w", failed, errFailed)
	}
	return nil
}

// arguments returns the arguments of go test for one target, without the package's other tests.
func (m module) arguments(t target, span string) []string {
	args := []string{"test", "-run", "^$", "-fuzz", "^" + t.name + "$", "-fuzztime", span}
	if m.parallel > 0 {
		args = append(args, "-parallel", strconv.Itoa(m.parallel))
	}
	return append(args, t.pkg)
}

var progress = regexp.MustCompile(`execs: (\d+)`)

// executions returns the last count that go test has printed.
func executions(out string) (n int) {
	for _, found := range progress.FindAllStringSubmatch(out, -1) {
		if count, err := strconv.Atoi(found[1]); err == nil {
			n = max(n, count)
		}
	}
	return n
}

// goTool runs the go command and returns its output. Its error contains the output, too.
func (m module) goTool(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the arguments are ours
	cmd.Dir = m.dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that its workers end, too
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}
