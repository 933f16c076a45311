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
)

// flakesVariable is the environment variable with the name of the file that gets a line for each flaky
// test.
const flakesVariable = "LEAT_TEST_FLAKES"

// failure is a test that failed.
type failure struct{ pkg, test string }

func (f failure) String() string { return f.pkg + " " + f.test }

// failures returns the tests that failed according to the events of go test, without their sub-tests. If
// running them again would prove nothing, sure is the evidence: a data race, a panic, or a package that
// failed although its tests passed, as it does for a leak. Otherwise sure is empty. A panic in the output
// of a test that passed belongs to a process that the test has killed.
func failures(events io.Reader) (failed []failure, sure string, err error) {
	decoder := json.NewDecoder(bufio.NewReader(events))
	broken := map[string]bool{}    // by package, whether it failed
	panics := map[failure]string{} // by test, the panic that it printed
	for {
		var event struct{ Action, Package, Test, Output string }
		if err := decoder.Decode(&event); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, "", err
		}
		switch event.Action {
		case "output":
			text, of := strings.TrimSpace(event.Output), failure{event.Package, event.Test}
			switch {
			case strings.HasPrefix(text, "WARNING: DATA RACE"):
				sure = fmt.Sprintf("%s: %s", of, text)
			case strings.HasPrefix(text, "panic: "), strings.HasPrefix(text, "fatal error: "):
				panics[of] = text
			}
		case "pass":
			delete(panics, failure{event.Package, event.Test})
		case "fail", "build-fail":
			switch {
			case event.Test == "":
				broken[event.Package] = true
			case !strings.Contains(event.Test, "/"):
				failed = append(failed, failure{event.Package, event.Test})
			}
		}
	}
	for of, text := range panics {
		sure = fmt.Sprintf("%s: %s", of, text)
	}
	for pkg := range broken {
		if sure == "" && !slices.ContainsFunc(failed, func(f failure) bool { return f.pkg == pkg }) {
			sure = pkg + " failed outside its tests"
		}
	}
	return failed, sure, nil
}

// rerun runs the failed tests once more. If all of them pass now, it prints their names and returns
// nil. Otherwise it returns the error of the first run.
func (r *run) rerun(first error, events string, gotest func(packages, flags []string) error) error {
	file, err := os.Open(events) //nolint:gosec // made by this run
	if err != nil {
		return errors.Join(first, err)
	}
	failed, sure, err := failures(file)
	err = errors.Join(err, file.Close())
	switch {
	case err != nil:
		return errors.Join(first, err)
	case sure != "":
		fmt.Println("\nnot run again:", sure)
		return first
	case len(failed) == 0 || len(failed) > r.reruns:
		fmt.Printf("\nnot run again: %d tests failed, and -rerun is %d\n", len(failed), r.reruns)
		return first
	}
	for _, f := range failed {
		fmt.Println("\nrun again:", f)
		if gotest([]string{f.pkg}, []string{"-count=1", "-run=^" + regexp.QuoteMeta(f.test) + "$"}) != nil {
			return first
		}
	}
	for _, f := range failed {
		fmt.Println("\nFLAKY, failed and then passed:", f)
	}
	return appendLines(flakesVariable, failed)
}
