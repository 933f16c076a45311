// Package testbedtest provides testbeds for tests.
package testbedtest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
)

// Main runs a package's tests and fails if goroutines are left over. It does not return.
func Main(m *testing.M) {
	testbed.Supervise()
	goleak.VerifyTestMain(m,
		// sarama, which watermill-kafka uses, has one meter of metrics per process.
		goleak.IgnoreAnyFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"),
		// The Deduplicator's repository in memory cannot be closed.
		goleak.IgnoreAnyFunction("github.com/ThreeDotsLabs/watermill/message/router/middleware.(*mapExpiringKeyRepository).cleanOutLoop"),
	)
}

// New returns a testbed for one test, which describes its steps in the test's log.
func New(t *testing.T) *testbed.Testbed {
	t.Helper()
	bed, err := testbed.Start(t.Context(), t.Output())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bed.Close()) })
	return bed
}
