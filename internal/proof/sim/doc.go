// Package sim runs leat's real engines (relay.Relay, inbox.Processor, dedupe.Processor) in virtual
// time against a simulated database, broker and store, and checks the results.
//
// Every call of an engine across one of its interfaces stops at one seeded scheduler, on its way in
// and on its way back. The scheduler alone decides when the call takes effect, when its answer
// arrives, and whether something goes wrong in between; it also crashes replicas, delivers their
// bytes after their death, and makes destinations unavailable. One goroutine moves it all, and only
// while every other one is blocked, so that a run is a function of its decisions. These are
// recorded as a list of numbers, 0 being the mildest choice each time: a Schedule. The same
// Schedule gives the same run, event by event, and a shorter one with more zeros in it is a simpler
// run: that is how failures are shrunk.
//
// For that, the jitter of the engines' waits must be a function of the time, so a program that
// links this package takes its jitter from the clock. See design 18.4.
package sim
