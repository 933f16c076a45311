package pgoutbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// exactPoints maps failpoints to the hit at which they fire. At these points, a relay that delivers
// exactly once has told the cluster something that the database does not know, or the other way round.
func exactPoints() map[failpoint.Name]int {
	return map[failpoint.Name]int{
		failpoint.RelayFenced: 1, failpoint.RelayPositionRead: 1, failpoint.RelayTransactionBegun: 3,
		failpoint.RelayTransactionFlushed: 3, failpoint.RelayLatePositionWrite: 2,
	}
}

// wiredExactSink returns an exactly-once sink that goes over the wire.
func (f *fragile) wiredExactSink() *kafkasink.Transactional {
	f.t.Helper()
	cfg := exactConfig(f.kafka.Prefix)
	cfg.Options = f.overWire()
	sink, err := kafkasink.NewTransactional(f.kafka.Brokers, cfg)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = sink.Close() }) // it always returns nil
	return sink
}

// awaitCommitted waits until readers of committed records see every message.
func (f *fragile) awaitCommitted() {
	f.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		seen := map[string]struct{}{}
		log := f.committed()
		for i := range log {
			seen[log[i].ID] = struct{}{}
		}
		if len(seen) >= f.ledger.size() {
			return
		}
		require.True(f.t, time.Now().Before(deadline), "%d of %d messages are committed", len(seen), f.ledger.size())
	}
}

// TestR12_EveryKindOnPostgres applies every kind of fault to a relay that delivers exactly once: readers
// of committed records see every message once, in the order of its key.
//
//leat:level 2
func TestR12_EveryKindOnPostgres(t *testing.T) {
	t.Parallel()
	for point, hit := range exactPoints() {
		for kind := range (&fragile{}).actions() {
			t.Run(fmt.Sprintf("%s/%s", point, kind), func(t *testing.T) {
				t.Parallel()
				f := newFragile(t)
				require.NoError(t, f.points.EnableAt(point, hit, f.actions()[kind]))
				f.run(f.exactSource(), f.wiredExactSink())
				f.reach(point, hit)
				var stop func() error
				switch kind {
				case "cancel":
					require.NoError(t, <-f.done)
					stop = f.start(f.exactSource(), f.exactSink(), briefLease()).stop
				case "pause": // until another one has taken over
					stop = f.start(f.exactSource(), f.exactSink(), briefLease()).stop
				}
				f.write(10)
				f.awaitCommitted()
				close(f.again)
				f.write(5)
				f.awaitCommitted()
				f.cancel()
				if kind != "cancel" {
					require.NoError(t, <-f.done)
				}
				if stop != nil {
					require.NoError(t, stop())
				}
				if kind == "error" || kind == "cut" {
					require.Greater(t, f.points.Hits(failpoint.RelayLeaseAcquired), 1, "its term has ended, and it began another")
				}
				f.finishExact(t)
				f.requireExact()
			})
		}
	}
}
