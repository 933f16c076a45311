// Command soak is the soak command of internal/proof with the daemon instead of all relays: each is
// configured by a file, as by leat run, and run by package daemon.
//
//	go run . -for 10m -seed 7
package main

import (
	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/proof/chaos/soak"
)

func main() { soak.Main(roles.Extras{Daemon: relays}) }
