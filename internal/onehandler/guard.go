// Package onehandler detects two handlers that share one memory of processed messages. The second
// handler would take each message for a duplicate.
package onehandler

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
)

// Err is inbox.ErrTwoHandlers.
var Err = errors.New("leat: two handlers share what remembers the messages of one")

// Guard belongs to one memory. The zero value is ready. It is safe for concurrent
// use.
// See design 12.3.
type Guard struct {
	routed, single, batch atomic.Pointer[handlers]
}

// handlers are the names of handlers of one kind: the first one, and one that came
// later.
type handlers struct{ first, second string }

// Check returns an error that wraps Err if a handler of another name has called it. From then on it
// does so for every name, the first one included: which of them came first is chance, and may
// differ after a restart. The name is that of a router's handler, or what Function or BatchFunction
// returns; handlers of one kind are compared with each other. An empty name is accepted.
func (g *Guard) Check(handler string) error {
	kind := &g.routed
	switch {
	case handler == "":
		return nil
	case strings.HasPrefix(handler, single):
		kind = &g.single
	case strings.HasPrefix(handler, batch):
		kind = &g.batch
	}
	for {
		seen := kind.Load()
		switch {
		case seen == nil:
			kind.CompareAndSwap(nil, &handlers{first: handler})
		case seen.second != "":
			return fmt.Errorf("%w: %.200q and %.200q: give each its own", Err, seen.first, seen.second)
		case seen.first == handler:
			return nil
		default:
			kind.CompareAndSwap(seen, &handlers{first: seen.first, second: handler})
		}
	}
}
