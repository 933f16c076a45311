// Package doctor is what an examination of a database and of its outbox finds.
package doctor

import (
	"context"
	"fmt"
	"path"
	"slices"
	"time"
)

// Verdict is what a check has come to.
type Verdict string

// What a check comes to. Unknown is said if the caller's rights do not suffice: it is
// never OK.
const (
	OK      Verdict = "ok"
	Warn    Verdict = "warn"
	Fail    Verdict = "fail"
	Unknown Verdict = "unknown"
)

// Finding is what a check has found, and what to do.
type Finding struct {
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"text"`
	Advice  string  `json:"advice,omitempty"`
}

// Check looks at one thing.
type Check struct {
	// Name has an area and a thing, such as server.durability.
	Name string
	// Run returns what was found; none: all is well. An error is unknown.
	Run func(ctx context.Context) ([]Finding, error)
}

// Examine runs the checks whose names match the pattern, as of path.Match; "": all.
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
			f.Check = check.Name
			all = append(all, f)
		}
	}
	return all, nil
}

// mostTold bounds what one check tells: whoever may enqueue chooses topics.
const mostTold = 20

// few are the worst of what a check has found, with a line for the others, which has the worst verdict of them.
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

// Bad reports whether something of all is to be seen to: what fails, and if strict what
// is a warning or not known.
func Bad(all []Finding, strict bool) bool {
	for _, f := range all {
		if f.Verdict == Fail || strict && f.Verdict != OK {
			return true
		}
	}
	return false
}

// Clock judges how far this host's clock is from the database's, as measured by a round
// trip. What is within the round trip may as well be the way: it is not judged.
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
