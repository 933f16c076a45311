package pgoutbox_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/relay"
)

// fragile is a stage with a relay in this process that suffers faults on its way to a real database and a
// real cluster.
type fragile struct {
	*stage

	wire   *faultnet.Lines // to Kafka
	points *failpointtest.Registry
	cancel context.CancelFunc // stops the relay
	done   chan error         // gets what the relay has returned
	again  chan struct{}      // closed to let go what is paused
	next   int
}

func newFragile(t *testing.T) *fragile {
	t.Helper()
	return &fragile{stage: newStage(t), wire: &faultnet.Lines{}, points: &failpointtest.Registry{}, again: make(chan struct{})}
}

// briefLease returns the config of relays that are paused for longer than their lease.
func briefLease() relay.Config {
	return relay.Config{
		PageSize: 7, ReadAhead: 1, BackoffMin: time.Millisecond, BackoffMax: 50 * time.Millisecond, PollMax: 20 * time.Millisecond,
		Lease: 5 * time.Second, PublishTimeout: 3 * time.Second, LeaseMargin: 500 * time.Millisecond,
	}
}

// actions returns the faults that can hit the relay.
func (f *fragile) actions() map[string]failpointtest.Action {
	deaf := failpointtest.Call(func(context.Context) error {
		<-f.again // deaf to its context, as a process that is stopped
		return nil
	})
	return map[string]failpointtest.Action{
		"error":  failpointtest.Error(nil),
		"cancel": failpointtest.Call(func(context.Context) error { f.cancel(); return nil }),
		"cut": failpointtest.Call(func(context.Context) error {
			f.wire.Cut()
			_, err := f.db.Pool.Exec(f.t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"+
				" WHERE datname = current_database() AND application_name LIKE 'leat%'")
			return err
		}),
		"pause": failpointtest.Call(func(context.Context) error {
			if err := f.points.Enable(failpoint.RelayBeforeRenew, deaf); err != nil {
				return err
			}
			<-f.again
			return nil
		}),
	}
}

// write commits transactions of both kinds, with and without a key.
func (f *fragile) write(n int) {
	f.t.Helper()
	for range n {
		f.next++
		f.commit(f.message(fmt.Sprint("k", f.next%4), fmt.Sprint("a", f.next)), f.message("", fmt.Sprint("b", f.next)))
	}
}

// run runs the relay, with the failpoints enabled.
func (f *fragile) run(src driver.Source, sink driver.Sink) {
	f.t.Helper()
	r, err := relay.New(src, sink, briefLease())
	require.NoError(f.t, err)
	ctx, cancel := context.WithCancel(failpointtest.With(f.t.Context(), f.points))
	f.t.Cleanup(cancel)
	f.cancel, f.done = cancel, make(chan error, 1)
	go func() { f.done <- r.Run(ctx) }()
}

// reach writes until a point has been hit the given number of times.
func (f *fragile) reach(point failpoint.Name, hits int) {
	f.t.Helper()
	reached := f.points.Reached(point, hits)
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for range 3000 {
		f.write(3)
		select {
		case <-reached:
			return
		case <-pause.C:
		}
	}
	require.Fail(f.t, "the point was not reached", "%s, %d times", point, hits)
}

// overWire returns options that make a Kafka client go over the wire.
func (f *fragile) overWire() []kgo.Opt { return []kgo.Opt{kgo.Dialer(f.wire.Dial)} }

// plainSink returns an at-least-once sink that goes over the wire.
func (f *fragile) plainSink() *kafkasink.Sink {
	f.t.Helper()
	sink, err := kafkasink.New(f.kafka.Brokers, kafkasink.Config{Options: f.overWire()})
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = sink.Close() }) // it always returns nil
	return sink
}

// requireDelivered checks that everything is in Kafka, in the order of its key, and at most twice.
func (f *fragile) requireDelivered() {
	f.t.Helper()
	r := f.audit(f.awaitAll())
	f.t.Logf("%d messages, %d copies", f.ledger.size(), r.copies)
	require.LessOrEqual(f.t, r.most, 2)
	r.copies, r.most = 0, 0
	require.Equal(f.t, report{}, r)
}

// TestO2_EveryKindWhileSending applies every kind of fault to a relay whose batch is on its way to Kafka:
// it recovers, or the next relay continues.
//
//leat:level 2
func TestO2_EveryKindWhileSending(t *testing.T) {
	t.Parallel()
	for _, point := range []failpoint.Name{failpoint.RelayMidBatch, failpoint.RelayLeaseLostWhileSending} {
		for kind := range (&fragile{}).actions() {
			t.Run(fmt.Sprintf("%s/%s", point, kind), func(t *testing.T) {
				t.Parallel()
				f := newFragile(t)
				require.NoError(t, f.points.EnableAt(point, hitOf(point), f.actions()[kind]))
				f.run(source(t, f.ob, ""), f.plainSink())
				f.reach(point, hitOf(point))
				if kind == "cancel" {
					require.NoError(t, <-f.done)
				}
				var stop func() error
				if kind == "cancel" || kind == "pause" {
					stop = f.start(source(t, f.ob, ""), f.sink(), briefLease()).stop
				}
				f.write(10)
				f.awaitAll()
				close(f.again)
				f.write(5)
				f.requireDelivered()
				f.cancel()
				if kind != "cancel" {
					require.NoError(t, <-f.done)
				}
				if stop != nil {
					require.NoError(t, stop())
				}
				require.Zero(t, f.relayOnce(source(t, f.ob, ""), f.sink(), briefLease()), "O12: the position has not gone back")
			})
		}
	}
}

// TestO13_EveryKindWhenStoppedInABatch stops a relay while a batch is on its way to Kafka, and applies
// another fault when the answer has arrived.
//
//leat:level 2
func TestO13_EveryKindWhenStoppedInABatch(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"error", "cut", "pause"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f := newFragile(t)
			require.NoError(t, f.points.EnableAt(failpoint.RelayLeaseLostWhileSending, 2, f.actions()["cancel"]))
			require.NoError(t, f.points.EnableAt(failpoint.RelayCloseMidBatch, 1, f.actions()[kind]))
			f.run(source(t, f.ob, ""), f.plainSink())
			f.reach(failpoint.RelayCloseMidBatch, 1)
			f.write(5)
			if kind == "pause" { // until another one has taken over
				stop := f.start(source(t, f.ob, ""), f.sink(), briefLease()).stop
				f.awaitAll()
				close(f.again)
				require.NoError(t, stop())
			}
			if err := <-f.done; kind == "error" {
				require.NoError(t, err)
			}
			exec(t, f.db, "UPDATE leat.outbox_leases SET lease_until = clock_timestamp()")
			f.relayOnce(source(t, f.ob, ""), f.sink(), briefLease())
			f.requireDelivered()
		})
	}
}

// TestO13_DiesWhenStoppedInABatch ends a relay process that was asked to stop while a batch was on its
// way, or makes it panic.
//
//leat:level 4
func TestO13_DiesWhenStoppedInABatch(t *testing.T) {
	t.Parallel()
	for action, status := range map[string]int{"exit": failpointtest.ExitStatus, "panic": 2} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			f := newFragile(t)
			f.write(30)
			victim := f.spawn(fastTakeover().Lease, envRelayLinger+"=300ms",
				fmt.Sprintf("%s=%s=%s@1", failpointtest.EnvPoints, failpoint.RelayCloseMidBatch, action))
			await(t, "a batch is on its way", func() bool { return victim.sent.Load() > 0 })
			require.NoError(t, victim.cmd.Process.Signal(syscall.SIGTERM))
			<-victim.done
			require.Equal(t, status, victim.cmd.ProcessState.ExitCode())
			require.Positive(t, victim.unsettled())
			exec(t, f.db, "UPDATE leat.outbox_leases SET lease_until = clock_timestamp()")
			f.relayOnce(source(t, f.ob, ""), f.sink(), briefLease())
			f.requireDelivered()
		})
	}
}
