package pgoutbox_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// relayPoints returns the points that a relay over this source passes.
func relayPoints() []failpoint.Name {
	return []failpoint.Name{
		failpoint.RelayLeaseAcquired, failpoint.RelayWindowOpened, failpoint.RelayAfterFetch,
		failpoint.RelaySentNotAcked, failpoint.RelayAckedBeforeAdvance, failpoint.RelayAdvanceAmbiguous,
		failpoint.RelayLatePositionWrite, failpoint.RelayBetweenPages, failpoint.RelayBeforeFinishWindow,
		failpoint.RelayBeforeRenew,
	}
}

// deadlyPoints returns the points that a relay to Kafka passes.
func deadlyPoints() []failpoint.Name {
	return append(relayPoints(), failpoint.RelayClaimWaits, failpoint.RelayLeaseLostWhileSending, failpoint.RelayMidBatch)
}

// hitOf returns the hit at which a point fires: the second, or the first for points that a relay passes
// once per term.
func hitOf(point failpoint.Name) int {
	if point == failpoint.RelayLeaseAcquired || point == failpoint.RelayClaimWaits {
		return 1
	}
	return 2
}

// TestO2_ProcessDiesAtEveryPoint ends a relay process at each point, or makes it panic, and lets the next
// one continue: nothing is lost or out of order, and no message is delivered more than twice.
//
//leat:level 4
func TestO2_ProcessDiesAtEveryPoint(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "a process a point")
	for i := range 2 * len(deadlyPoints()) {
		point, action, status := deadlyPoints()[i/2], "exit", failpointtest.ExitStatus
		if i%2 == 1 {
			action, status = "panic", 2 // which no goroutine of a relay catches
		}
		t.Run(string(point)+"="+action, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			late := begin(t, s.ob, s.db)
			lateMessage := s.message("late", "late")
			require.NoError(t, s.ob.Enqueue(t.Context(), late.Tx, lateMessage))
			for i := range 30 {
				s.commit(s.message(fmt.Sprint("k", i%4), fmt.Sprint("a", i)), s.message("", fmt.Sprint("b", i)))
			}
			victim := s.spawn(fastTakeover().Lease, fmt.Sprintf("%s=%s=%s@%d", failpointtest.EnvPoints, point, action, hitOf(point)))
			late.commit()
			s.ledger.note(true, lateMessage)
			for i := 0; !victim.ended(); i++ { // something to do until it comes to its point
				s.commit(s.message(fmt.Sprint("k", i%4), fmt.Sprint("c", i)))
			}
			require.Equal(t, status, victim.cmd.ProcessState.ExitCode())
			t.Logf("%s at %s: %d records sent and unsettled", action, point, victim.unsettled())
			exec(t, s.db, "UPDATE leat.outbox_leases SET lease_until = clock_timestamp()")
			s.relayOnce(source(t, s.ob, ""), s.sink(), relay.Config{PageSize: 7})
			r := s.audit(s.log())
			require.LessOrEqual(t, r.most, 2)
			r.copies, r.most = 0, 0
			require.Equal(t, report{}, r)
		})
	}
}

// TestO2_ErrorAtEveryPoint makes each point of a relay fail several times; the relay recovers by itself.
func TestO2_ErrorAtEveryPoint(t *testing.T) {
	t.Parallel()
	for _, point := range append(relayPoints(), failpoint.RelayClaimWaits) {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			ob, db := newOutbox(t, pgoutbox.Config{})
			points := &failpointtest.Registry{}
			for hit := 1; hit <= 7; hit += 3 {
				require.NoError(t, points.EnableAt(point, hit, failpointtest.Error(nil)))
			}
			broker := outboxtest.NewBroker()
			r, err := relay.New(source(t, ob, ""), broker.Sink(), relay.Config{
				PageSize: 3, BackoffMin: time.Millisecond, BackoffMax: 10 * time.Millisecond, PollMax: 10 * time.Millisecond,
				Lease: 1500 * time.Millisecond, PublishTimeout: 500 * time.Millisecond, LeaseMargin: 100 * time.Millisecond,
			})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(failpointtest.With(t.Context(), points))
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- r.Run(ctx) }()

			late := begin(t, ob, db).put("late", "late")
			var want []string
			for i := range 20 {
				put(t, ob, "k", fmt.Sprint("a", i), fmt.Sprint("b", i))
				want = append(want, fmt.Sprint("a", i), fmt.Sprint("b", i))
			}
			late.commit()
			log, err := broker.AwaitDistinct(t.Context(), len(want)+1)
			require.NoError(t, err)
			<-points.Reached(point, 1)
			cancel()
			require.NoError(t, <-done)
			ofKey := slices.DeleteFunc(firsts(log), func(r outbox.Record) bool { return r.Key != "k" })
			require.Equal(t, want, payloads(ofKey))
		})
	}
}
