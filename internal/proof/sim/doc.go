// Package sim runs leat's real engines (relay.Relay, inbox.Processor,
// dedupe.Processor) in virtual time against a database, a broker and a store that are
// simulated, and checks what comes of it.
//
// Every call of an engine across one of its interfaces stops at one seeded scheduler,
// on its way in and on its way back. The scheduler alone decides when the call takes
// effect, when its answer arrives, and whether something goes wrong in between; it
// also crashes replicas, lets their bytes arrive after their death, and lets
// destinations go away. One goroutine moves it all, and only while every other one is
// blocked, so that a run is a function of its decisions. These are recorded as a list
// of numbers, 0 being the mildest choice each time: a Schedule. The same Schedule
// gives the same run, event by event, and a shorter one with more zeros in it is a
// simpler run: that is how failures are shrunk.
//
// The waits that engines jitter must be a function of the time for that, so a program
// that links this package takes its jitter from the clock. See design 18.4.
package sim
