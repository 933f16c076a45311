// Package doctor has the checks of a database and its outbox, and their findings.
package doctor

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Verdict is the result of a check.
type Verdict string

// Results of a check. Unknown means that the caller's rights did not suffice. It never counts as OK.
const (
	OK      Verdict = "ok"
	Warn    Verdict = "warn"
	Fail    Verdict = "fail"
	Unknown Verdict = "unknown"
)

// Finding is a result of a check, and what to do about it.
type Finding struct {
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"text"`
	Advice  string  `json:"advice,omitempty"`
}

// Check checks one thing.
type Check struct {
	// Name consists of an area and a thing, such as server.durability.
	Name string
	// Run returns what was found. An empty result means that all is well, an error that the result is
	// unknown.
	Run func(ctx context.Context) ([]Finding, error)
}

// Examine runs the checks whose names match the pattern, as in path.Match; "" matches all.
func Examine(ctx context.Context, checks []Check, pattern string) ([]Finding, error) {
	var all []Finding
	for _, check := range checks {
		if pattern != "" {
			if ok, err := path.Match(pattern, check.Name); err != nil || !ok {
				if err != nil {
					return nil, err
				}
				continue
			}
		}
		found, err := check.Run(ctx)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			found = []Finding{{Verdict: Unknown, Text: err.Error()}}
		case len(found) == 0:
			found = []Finding{{Verdict: OK}}
		}
		for _, f := range few(found) {
			f.Check, f.Text = check.Name, oneLine(f.Text)
			all = append(all, f)
		}
	}
	return all, nil
}

// oneLine puts the lines of a text, which errors may have, after one another.
func oneLine(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case b.Len() == 0 || line == "":
		case strings.HasSuffix(b.String(), ":"):
			b.WriteString(" ")
		default:
			b.WriteString("; ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// mostTold bounds the findings of one check, since any producer can add topics.
const mostTold = 20

// few returns the worst findings of a check, and one line for the others with the worst verdict among them.
func few(found []Finding) []Finding {
	if len(found) <= mostTold {
		return found
	}
	rank := []Verdict{Fail, Warn, Unknown, OK}
	slices.SortStableFunc(found, func(a, b Finding) int { return slices.Index(rank, a.Verdict) - slices.Index(rank, b.Verdict) })
	others := found[mostTold]
	others.Text = fmt.Sprintf("%d others, such as %s", len(found)-mostTold, others.Text)
	return append(found[:mostTold:mostTold], others)
}

// Bad reports whether a finding needs attention: a failure, or if strict also a warning or an unknown
// result.
func Bad(all []Finding, strict bool) bool {
	for _, f := range all {
		if f.Verdict == Fail || strict && f.Verdict != OK {
			return true
		}
	}
	return false
}

// Clock judges the offset between this host's clock and the database's, as measured by a round trip. An
// offset below the round trip may be its latency, and is not judged.
func Clock(offset, roundTrip time.Duration) Verdict {
	const warn = 250 * time.Millisecond
	switch distance := max(offset, -offset); {
	case distance <= roundTrip && roundTrip > warn:
		return Unknown
	case distance <= roundTrip:
		return OK
	case distance > time.Second:
		return Fail
	case distance > warn:
		return Warn
	default:
		return OK
	}
}
