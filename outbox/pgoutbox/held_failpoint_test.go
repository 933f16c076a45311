package pgoutbox_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// faultsOfPark returns the faults that can happen around a Hold, by kind.
func faultsOfPark(h *holding, cancel context.CancelFunc) map[string]failpointtest.Action {
	return map[string]failpointtest.Action{
		"error":  failpointtest.Error(nil),
		"panic":  failpointtest.Panic(),
		"cancel": failpointtest.Cancel(cancel),
		"connection cut": failpointtest.Call(func(ctx context.Context) error {
			_, err := h.db.Pool.Exec(ctx, `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
				WHERE datname = current_database() AND pid <> pg_backend_pid()`)
			return err
		}),
		"pause past lease": failpointtest.Call(func(ctx context.Context) error {
			_, err := h.db.Pool.Exec(ctx, "UPDATE leat.outbox_leases SET owner = 'another', epoch = epoch + 1")
			return err
		}),
	}
}

// TestO2_FaultsAroundPark: whatever fault hits before or after a record is parked, the next session either
// finds it parked or reads it again, never both and never neither.
func TestO2_FaultsAroundPark(t *testing.T) {
	t.Parallel()
	for _, point := range []failpoint.Name{failpoint.RelayBeforePark, failpoint.RelayAfterPark} {
		for _, kind := range []string{"error", "panic", "cancel", "connection cut", "pause past lease"} {
			t.Run(string(point)+" "+kind, func(t *testing.T) {
				t.Parallel()
				h := newHolding(t)
				put(t, h.ob, "a", "1", "2")
				points := &failpointtest.Registry{}
				ctx, cancel := context.WithCancel(failpointtest.With(t.Context(), points))
				defer cancel()
				require.NoError(t, points.EnableAt(point, 1, faultsOfPark(h, cancel)[kind]))
				page := h.page(2)
				fates := holdings(driver.FatePark, driver.FateWait)
				hold := func() error { return holdAsRelay(ctx, h, page, fates) }
				if kind == "panic" {
					require.Panics(t, func() { _ = hold() })
				} else if err := hold(); point == failpoint.RelayBeforePark {
					require.Error(t, err)
				}
				<-points.Reached(point, 1)
				_ = h.Release(t.Context()) // of a session that may be broken
				exec(t, h.db, "UPDATE leat.outbox_leases SET lease_until = clock_timestamp()")

				parked := point == failpoint.RelayAfterPark
				next := holdingOf(t, h.ob, h.db, "default")
				if !parked {
					require.Empty(t, next.held())
					next.hold(driver.FatePark, driver.FateWait)
				}
				require.Equal(t, []string{"1 parked", "2 wait"}, next.held())
				require.Empty(t, next.pendingNow())
				require.Empty(t, readAll(t, next, 10))
				require.Equal(t, []string{"park a"}, next.audit())
			})
		}
	}
}

// holdAsRelay holds every record of page, passing the same failpoints as a relay.
func holdAsRelay(ctx context.Context, h *holding, page driver.Page, fates []driver.Holding) error {
	if err := failpoint.Inject(ctx, failpoint.RelayBeforePark); err != nil {
		return err
	}
	if err := h.Hold(ctx, page, len(page.Records), fates); err != nil {
		return err
	}
	return failpoint.Inject(ctx, failpoint.RelayAfterPark)
}

// TestO2_O6_ProcessDiesAroundPark ends a relay process, or makes it panic, right before and right after it
// parks a record that Kafka refuses. The next one continues: everything committed is in Kafka or parked,
// nothing passes the parked record, and after a redrive, or without the record, its key continues in
// order.
//
//leat:level 4
func TestO2_O6_ProcessDiesAroundPark(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "a process a point")
	for i := range 4 {
		point, action, status := failpoint.RelayBeforePark, "exit", failpointtest.ExitStatus
		if i%2 == 1 {
			action, status = "panic", 2
		}
		if i >= 2 {
			point = failpoint.RelayAfterPark
		}
		t.Run(string(point)+"="+action, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			poison := s.message("k0", "poison")
			// Each is within the bounds of an outbox, and both together are too much for the topic.
			poison.Payload, poison.Headers = make([]byte, 983_040), map[string]string{"long": strings.Repeat("x", 65_400)}
			s.commit(s.message("k0", "before"), poison, s.message("k1", "other"), s.message("k0", "behind"))
			victim := s.spawn(fastTakeover().Lease, failpointtest.EnvPoints+"="+string(point)+"="+action+"@1")
			<-victim.done
			require.Equal(t, status, victim.cmd.ProcessState.ExitCode())
			exec(t, s.db, "UPDATE leat.outbox_leases SET lease_until = clock_timestamp()")
			s.commit(s.message("k0", "later"), s.message("", "unordered"))
			aside := s.aside(3)
			require.Equal(t, []string{"poison", "behind", "later"}, aside)
			r := s.audit(s.log())
			require.Len(t, r.lost, 3, "what is parked is not in Kafka, all else is")
			require.Empty(t, r.inverted)

			skipped, err := s.ob.Admin().SkipHead(t.Context(), admin.SkipHeadRequest{By: people(), Key: driver.Key{Topic: poison.Topic, Key: poison.Key}})
			require.NoError(t, err)
			require.Equal(t, []string{poison.ID}, skipped.IDs)
			s.relayOnce(source(t, s.ob, ""), s.sink(), relay.Config{})
			r = s.audit(s.log())
			require.Equal(t, []string{poison.ID}, r.lost)
			require.Empty(t, r.inverted)
			require.LessOrEqual(t, r.most, 2)
		})
	}
}

// aside relays until n records are parked, and returns their ids. It may take several runs, since the
// process that died may have set some aside that are due later.
func (s *stage) aside(n int) (ids []string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	for len(ids) < n && ctx.Err() == nil {
		s.relayOnce(source(s.t, s.ob, ""), s.sink(), relay.Config{})
		parked, err := s.ob.Admin().Held(s.t.Context(), admin.HeldQuery{State: admin.HeldParked})
		require.NoError(s.t, err)
		ids = ids[:0]
		for _, p := range parked {
			ids = append(ids, p.ID)
		}
	}
	return ids
}
