package main_test

import (
	"testing"

	"github.com/leat-go/leat/internal/testenv"
)

// TestS12_FunctionsOfStrangers: what others have created in a schema of the operator's search
// path is not called by any command.
func TestS12_FunctionsOfStrangers(t *testing.T) {
	t.Parallel()
	s := newShopWithout(t)
	testenv.Strangers(t, s.Database)
	o := newSession(t, s.URL)
	o.run(0, "migrate", "up", "--yes")
	changeHeld(t, s, o)
	o.run(0, "status")
	o.examined()
	testenv.RequireNotCalled(t, s.Database)
}
