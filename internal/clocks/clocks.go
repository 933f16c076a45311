// Package clocks decides whether the clock of a database may be trusted for operations that cannot
// be undone: drop, delete, exempt, and forget by age. Clocks jump, because of a wrong time server, a
// restored virtual machine, or a host that slept.
package clocks

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

const (
	// apart is the most by which the clocks of a database and of this process may differ.
	apart = time.Hour
	// probation is how long a clock must run evenly after a jump before it is trusted again.
	probation = time.Hour
	// grace, plus half of the time between two looks, is the most by which a clock may deviate before that
	// counts as a jump: a slewed clock is not a jump.
	grace = time.Minute
	// catchUp is how much faster than time a limit may rise, and headStart is how much it may rise at
	// once.
	catchUp   = 24
	headStart = time.Hour
	// maxMarks bounds the remembered numbers: a mark for each tenth of an age, from a minute to a year.
	maxMarks = 128
)

// Watch compares how far a database's clock has moved between two looks with the time that this
// process's monotonic clock has measured. The zero Watch is ready. It is safe for concurrent use.
type Watch struct {
	mu      sync.Mutex
	trusted look      // the last that was trusted
	jumped  look      // the last that was not; zero if there is none since trusted
	since   time.Time // when jumped was first seen, by our clock; it has run evenly since
	risen   time.Time // of our clock: the last call of Limit
	reached time.Time // what Limit returned then
	marks   []mark    // ascending in both
}

// mark is the last number of a log that had been drawn at a time of our clock.
type mark struct {
	last int64
	at   time.Time
}

// look is a reading of the database's clock and of ours, with its monotonic reading.
type look struct{ theirs, ours time.Time }

// DoubtError is the error of a clock that is not trusted for operations that cannot be undone, or of a limit that is
// ahead of it.
type DoubtError string

func (d DoubtError) Error() string { return string(d) }

// postponed begins the text of a clock that is not trusted.
const postponed = "leat: nothing is dropped, deleted or forgotten by age: "

// Look records theirs, the current reading of the database's clock. It returns a DoubtError if the clock must
// not be trusted: it differs from ours by more than an hour, or it has jumped. After a jump, it is trusted
// again as soon as it is back, or has gone evenly for an hour.
func (w *Watch) Look(theirs time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := look{theirs, time.Now()}
	if err := Differ(theirs); err != nil {
		w.note(now)
		return DoubtError(postponed + err.Error())
	}
	if w.trusted == (look{}) || w.trusted.leadsTo(now) {
		w.trusted, w.jumped = now, look{}
		return nil
	}
	w.note(now)
	if even := now.ours.Sub(w.since); even >= probation {
		w.trusted, w.jumped = now, look{}
		return nil
	}
	d := theirs.Sub(w.trusted.theirs) - now.ours.Sub(w.trusted.ours)
	return DoubtError(fmt.Sprintf(postponed+"the database's clock has jumped by %s: it is trusted when it is back, or in %s if it is right now",
		d.Round(time.Second), (probation - now.ours.Sub(w.since)).Round(time.Second)))
}

// Differ returns an error if theirs, the current reading of the database's clock, is more than an hour off ours.
func Differ(theirs time.Time) error {
	if d := time.Until(theirs).Abs(); d > apart {
		return fmt.Errorf("the clocks of database and process differ by %s: set them right", d.Round(time.Second))
	}
	return nil
}

// Ahead returns a DoubtError if the time below which an inbox has forgotten is ahead of theirs, the current reading of the
// database's clock: both clocks were wrong together, and every message that is made before that time is too old.
func Ahead(floor, theirs time.Time) error {
	if !floor.After(theirs) {
		return nil
	}
	return DoubtError(fmt.Sprintf("leat: the floor of the inbox is ahead of the database's clock by %s, and messages that are made before %s are too old: "+
		"lower it by leat inbox retention lower", floor.Sub(theirs).Round(time.Second), floor.UTC().Format(time.RFC3339)))
}

// note records a look that is not trusted. The caller holds mu.
func (w *Watch) note(now look) {
	if w.jumped == (look{}) || !w.jumped.leadsTo(now) {
		w.since = now.ours
	}
	w.jumped = now
}

// leadsTo reports whether the clock has run evenly from l to now.
func (l look) leadsTo(now look) bool {
	passed := now.ours.Sub(l.ours)
	return (now.theirs.Sub(l.theirs) - passed).Abs() <= min(grace+passed/2, apart)
}

// Limit bounds a limit that follows the clock, such as the time below which an inbox has forgotten. The limit may
// rise by an hour at first, and then 24 times as fast as time passes. If the clocks of the database and the process
// are both wrong, little is lost, and a limit that is far behind because it was not raised for long catches up. A
// limit that is not set yet is free. What the caller rounds off is not lost.
func (w *Watch) Limit(from, to time.Time) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	most, now := headStart, time.Now()
	if !w.risen.IsZero() {
		most = catchUp * now.Sub(w.risen)
	}
	w.risen = now
	if !from.IsZero() {
		if w.reached.After(from) {
			from = w.reached
		}
		if to.Sub(from) > most {
			to = from.Add(most)
		}
	}
	w.reached = to
	return to
}

// Number records last, the greatest number of a log that has been drawn so far.
func (w *Watch) Number(last int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if n := len(w.marks); n > 0 && last <= w.marks[n-1].last {
		if last == w.marks[n-1].last {
			return
		}
		w.marks = w.marks[:0] // the counter was set back: numbers are drawn again
	}
	w.marks = append(w.marks, mark{last, now})
	if len(w.marks) > maxMarks {
		w.thin(now)
	}
}

// thin drops the mark whose neighbours are closest to each other for their age. The caller holds mu.
func (w *Watch) thin(now time.Time) {
	drop, least := 1, math.Inf(1)
	for i := 1; i < len(w.marks)-1; i++ {
		gap := float64(w.marks[i+1].at.Sub(w.marks[i-1].at)) / float64(now.Sub(w.marks[i-1].at))
		if gap < least {
			drop, least = i, gap
		}
	}
	w.marks = slices.Delete(w.marks, drop, drop+1)
}

// Younger returns a number above which all have been drawn less than age ago, by the monotonic clock, whatever times
// the database's clock has stored with them: it may have been behind. If nothing is known, it returns the greatest
// number.
func (w *Watch) Younger(age time.Duration) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.marks {
		if time.Since(m.at) < age {
			return m.last
		}
	}
	return math.MaxInt64
}

// began is the start time of this process.
var began = time.Now() //nolint:gochecknoglobals // a process begins once

// Come returns a time that has certainly passed: the time of this process's clock, but no later than the time by a
// monotonic clock since the process began. A memory with an end is forgotten only once both a database's clock and
// this one are past that end, and the stored end is the later of the two by these clocks. So both clocks must be
// wrong for a memory to be forgotten too early. If the machine sleeps, it is forgotten later.
func Come() time.Time {
	now := time.Now()
	return came(began.Round(0), now.Round(0), now.Sub(began))
}

// Passed returns how much time has passed by a monotonic clock since this process began. It is for readings that are
// compared later and must not change when the clock is set, where a time.Time cannot be kept.
func Passed() time.Duration { return time.Since(began) }

func came(began, now time.Time, passed time.Duration) time.Time {
	if latest := began.Add(passed); latest.Before(now) {
		return latest
	}
	return now
}
