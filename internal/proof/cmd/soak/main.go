// Command soak injects faults into a system of producers, relays and consumers on real servers of
// its own, for the given time, and judges the history:
//
//	go run ./cmd/soak -for 10m -seed 7
//	go run ./cmd/soak -faults 300 -controls
//	go run ./cmd/soak -for 30s -sabotage no-inbox
//
// It exits with 0 if nothing was violated, 1 if something was, 2 if it could not be judged. With
// -sabotage a rule of the protocol is broken on purpose, and the status must be 1. The command of
// the same name in internal/proof/sqltest has other databases, too.
package main

import (
	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/proof/chaos/soak"
)

func main() { soak.Main(roles.Extras{}) }
