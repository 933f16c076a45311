package mutants

import (
	"bytes"
	"encoding/json"
	"strings"
)

// outputLines bounds the lines of the tests' output that are kept.
const outputLines = 60

// event is a line of `go test -json`.
type event struct {
	Action      string
	Test        string
	Output      string
	FailedBuild string
}

// report is the result of `go test`.
type report struct {
	built    bool
	green    bool              // the command succeeded
	timedOut bool              // a test ran out of time
	died     bool              // the process panicked, or was killed
	last     map[string]string // by test, its last action
	lines    []string
}

// read parses the output of `go test -json`.
func read(out []byte) *report {
	rep := &report{built: true, last: make(map[string]string)}
	for line := range bytes.Lines(out) {
		var e event
		if json.Unmarshal(line, &e) != nil {
			rep.keep(string(line))
			continue
		}
		rep.take(&e)
	}
	return rep
}

func (r *report) take(e *event) {
	if e.Action == "build-fail" || e.FailedBuild != "" {
		r.built = false
	}
	r.keep(e.Output)
	switch {
	case strings.HasPrefix(e.Output, "panic: test timed out after"):
		r.timedOut = true
	case strings.HasPrefix(e.Output, "panic: "), strings.HasPrefix(e.Output, "fatal error: "),
		strings.HasPrefix(e.Output, "signal: "):
		r.died = true
	}
	switch e.Action {
	case "run", "pass", "fail", "skip":
		if e.Test != "" {
			r.last[e.Test] = e.Action
		}
	}
}

// keep keeps the first outputLines informative lines.
func (r *report) keep(line string) {
	line = strings.TrimRight(line, "\n")
	if text := strings.TrimSpace(line); text == "" || strings.HasPrefix(text, "=== ") {
		return
	}
	if len(r.lines) < outputLines {
		r.lines = append(r.lines, line)
	}
}

// wrong describes why test does not prove anything about a mutant if r is its result without a mutant. It
// is empty if the test passes.
func (r *report) wrong(test string) string {
	switch r.last[test] {
	case "pass":
		return ""
	case "skip":
		return "the test is skipped"
	case "":
		return "there is no such test without the mutant"
	default:
		return "the test does not pass without the mutant\n" + strings.Join(r.lines, "\n")
	}
}

// verdict returns the verdict on a mutant that test must notice.
func (r *report) verdict(test string, hangs bool) (Verdict, string) {
	action := r.last[test]
	switch {
	case !r.built:
		return BadMutant, "it does not compile"
	case r.timedOut && hangs:
		return Killed, "the test hangs"
	case r.timedOut:
		return TimedOut, "the test did not end in time"
	case action == "fail":
		return Killed, "the test fails"
	case action == "run" && r.died:
		return Killed, "the test's process dies"
	case !r.green:
		return Strayed, "something else than the named test fails"
	case action == "pass":
		return Survived, "the test passes"
	default:
		return BadMutant, "the test did not run"
	}
}
