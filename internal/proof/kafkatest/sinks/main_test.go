// Package sinks_test compares what sinks and forwarders write with what watermill-kafka reads and writes.
package sinks_test

import (
	"context"
	"testing"
	"time"

	"github.com/leat-go/leat/internal/testenv"
)

//leat:level 1
func TestMain(m *testing.M) { testenv.Main(m) }

// within returns a context that limits the waits of a test to a minute. No test measures time.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
