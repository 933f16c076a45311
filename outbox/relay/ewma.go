package relay

import (
	"math"
	"time"
)

// rateWindow is the time over which rates are averaged.
const rateWindow = time.Minute

// ewma is an exponentially weighted moving average of events per second: an event that is
// rateWindow old weighs a third of a new one.
type ewma struct {
	count float64 // decayed
	at    time.Time
	from  time.Time // of the first event
}

// add counts n events at a time, which must not be before that of the last call.
func (e *ewma) add(n int, at time.Time) {
	e.decay(at)
	e.count += float64(n)
}

func (e *ewma) decay(at time.Time) {
	if e.at.IsZero() {
		e.at, e.from = at, at
		return
	}
	if d := at.Sub(e.at); d > 0 {
		e.count *= math.Exp(-d.Seconds() / rateWindow.Seconds())
		e.at = at
	}
}

// rate returns the events per second as of a time.
func (e *ewma) rate(at time.Time) float64 {
	if e.at.IsZero() {
		return 0
	}
	now := *e
	now.decay(at)
	// At the beginning there is less than rateWindow to average over.
	seen := now.at.Sub(now.from).Seconds() / rateWindow.Seconds()
	return now.count / (rateWindow.Seconds() * max(1-math.Exp(-seen), 1/rateWindow.Seconds()))
}
