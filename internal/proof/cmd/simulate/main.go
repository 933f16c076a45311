// Simulate runs leat's engines through seeded schedules in virtual time and reports
// what was injected and what was found.
//
//	go run ./cmd/simulate -seeds 5000
//	go run ./cmd/simulate -replay schedule.json -trace
//
// It exits with status 1 where a promise was broken, and leaves the schedule, shrunk,
// in a file that -replay takes.
package main

import (
	"flag"
	"testing"
)

func main() {
	o := &options{}
	o.register(flag.CommandLine)
	// Bubbles of virtual time exist in tests only, so this program is one.
	all := func(string, string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "simulate", F: o.main}}, nil, nil)
}
