package sim

import (
	"errors"
	"time"
)

// Fault is a kind of fault.
type Fault string

// The kinds of faults.
const (
	Refuse     Fault = "refused"       // the call fails and has had no effect
	LoseAnswer Fault = "answer lost"   // the call has had its effect, but its answer is an error
	Stall      Fault = "stalled"       // the call hangs, longer than a lease may last
	Zombie     Fault = "late effect"   // a call takes effect after its caller has left or died
	Crash      Fault = "crash"         // a replica is killed
	Stop       Fault = "stop"          // a replica is stopped, cleanly, and another started
	Rebalance  Fault = "rebalance"     // partitions move, old members go on for a while
	LoseAck    Fault = "ack lost"      // the broker has appended the record, but reports a failure
	Reject     Fault = "rejected"      // the broker refuses a record without giving a reason
	Double     Fault = "doubled"       // the broker appends a record twice
	Outage     Fault = "outage"        // a topic is unavailable for a while
	Poison     Fault = "poison"        // a record that the broker always refuses
	BadHandler Fault = "handler fails" // a handler returns an error
	Evict      Fault = "evicted"       // the store loses a record
	Cut        Fault = "tail cut"      // a stream of commits ends
	Ended      Fault = "session ended" // the lock of a lease ends while its holder lives
	Emptied    Fault = "log emptied"   // an operator empties the log, and restores it later
)

var (
	// errRefused is the error of a call that has had no effect.
	errRefused = errors.New("sim: refused")
	// errLost is the error of a call whose answer was lost.
	errLost = errors.New("sim: answer lost")
	// errGone is the error of every call of a replica that was killed.
	errGone = errors.New("sim: process is gone")
	// errHandler is the error of a handler.
	errHandler = errors.New("sim: handler fails")
)

// op is a kind of call.
type op struct {
	name string
	// faulty calls can be refused, and their answers lost.
	faulty bool
	// stalls is true if the call can hang. stubborn is true if it then ignores its context, like a
	// process that is stopped between a check and a write.
	stalls, stubborn bool
	// late calls can take effect after their caller has gone.
	late bool
	// takes is the duration of the call beyond its latency.
	takes time.Duration
	// admitted is called when the call arrives at the scheduler. May be nil.
	admitted func()
}

// fate decides what goes wrong with a call.
func (w *World) fate(o op) Fault {
	if w.calm || !o.faulty && !o.stalls {
		return ""
	}
	var f Fault
	switch v := w.choose(80); {
	case o.stalls && (v == 79 || v > 65 && w.broken == NoEpoch): // a broken NoEpoch shows only if a stall comes at the right time
		f = Stall
	case v == 78 && o.faulty, v == 77 && o.faulty:
		f = LoseAnswer
	case v == 76 && o.faulty, v == 75 && o.faulty:
		f = Refuse
	default:
		return ""
	}
	w.fault(f)
	return f
}

// fault counts a fault.
func (w *World) fault(f Fault) {
	w.faults[f]++
}

// unlucky reports whether an event with a probability of one in n happens now.
func (w *World) unlucky(n uint32, f Fault) bool {
	if w.calm || w.choose(n) != n-1 {
		return false
	}
	w.fault(f)
	return true
}

// latency returns the time that a call takes in one direction: mostly microseconds, and up to a fifth of a
// second. It is less in a run without faults, and constant while the scenario heals.
func (w *World) latency() time.Duration {
	if w.quick {
		return 100 * time.Microsecond
	}
	n := uint32(1000)
	if w.calm {
		n = 800
	}
	u := w.choose(n)
	shift := u * u * 14 / 1_000_000
	return 20*time.Microsecond<<shift + time.Duration(u)*1009*time.Nanosecond
}

// between chooses a duration from least to most.
func (w *World) between(least, most time.Duration) time.Duration {
	return least + (most-least)*time.Duration(w.choose(1024))/1024
}
