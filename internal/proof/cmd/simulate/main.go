// Simulate runs leat's engines through seeded schedules in virtual time and reports the faults and
// the findings.
//
//	go run ./cmd/simulate -seeds 5000
//	go run ./cmd/simulate -replay schedule.json -trace
//
// It exits with status 1 if a promise was broken, and leaves the shrunk schedule in a file for
// -replay.
package main

import (
	"flag"
	"testing"
)

func main() {
	o := &options{}
	o.register(flag.CommandLine)
	// Virtual time exists only in tests, so this program runs as a test.
	all := func(string, string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "simulate", F: o.main}}, nil, nil)
}
