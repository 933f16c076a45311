package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/testlevel"
)

// timesVariable is the environment variable with the name of the file that gets the times of packages.
const timesVariable = "LEAT_TEST_TIMES"

// shown is the number of the slowest packages that are printed.
const shown = 10

// packageTime is how long the tests of a package took.
type packageTime struct {
	name    string
	seconds float64
	passed  int // tests and sub-tests
}

// report prints the slowest packages and a summary.
func (r *run) report(events string, took time.Duration) error {
	file, err := os.Open(events) //nolint:gosec // made by this run
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	times, err := readTimes(file)
	if err != nil {
		return err
	}
	slices.SortFunc(times, func(a, b packageTime) int { return int(1000 * (b.seconds - a.seconds)) })
	fmt.Println("\nslowest packages, in seconds:")
	for _, t := range times[:min(shown, len(times))] {
		fmt.Printf("%8.1f  %s\n", t.seconds, t.name)
	}
	fmt.Printf("\n%s (%s)\n", r.summary(), took.Round(time.Second))
	return appendLines(timesVariable, times)
}

// readTimes reads the events of go test.
func readTimes(events io.Reader) ([]packageTime, error) {
	var times []packageTime
	passed := map[string]int{}
	decoder := json.NewDecoder(bufio.NewReader(events))
	for {
		var event struct {
			Action, Package, Test string
			Elapsed               float64
		}
		if err := decoder.Decode(&event); errors.Is(err, io.EOF) {
			return times, nil
		} else if err != nil {
			return nil, err
		}
		switch {
		case event.Test != "" && event.Action == "pass":
			passed[event.Package]++
		case event.Test == "" && (event.Action == "pass" || event.Action == "fail"):
			times = append(times, packageTime{event.Package, event.Elapsed, passed[event.Package]})
		}
	}
}

func (t packageTime) String() string {
	return fmt.Sprintf("%.1f %d %s", t.seconds, t.passed, t.name)
}

// appendLines adds lines to the file that an environment variable names, if it is set.
func appendLines[T fmt.Stringer](variable string, lines []T) error {
	name := os.Getenv(variable)
	if name == "" {
		return nil
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // the caller's own file
	if err != nil {
		return err
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(file, line); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	return file.Close()
}

// summary returns what has run, and how to run the rest.
func (r *run) summary() string {
	chosen, left := counts(r.selection.Chosen), counts(r.selection.Left)
	text := fmt.Sprintf("%s, of %d packages", chosen, len(r.selection.Packages))
	if left == "" {
		return text
	}
	return text + "; `make test-all` runs the rest: " + left
}

// counts lists numbers of tests by level. It is empty if there are none.
func counts(byLevel map[testlevel.Level]int) string {
	var parts []string
	for _, level := range testlevel.Levels() {
		if n := byLevel[level]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d tests of level %d", n, level))
		}
	}
	return strings.Join(parts, ", ")
}

func compile(pattern string) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, nil //nolint:nilnil // nothing is skipped
	}
	return regexp.Compile(pattern)
}
