package pgoutbox_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// allRelayPoints returns the points of a relay whose sink rejects a record.
func allRelayPoints() []failpoint.Name {
	return append(relayPoints(), failpoint.RelayClaimWaits, failpoint.RelayLeaseLostWhileSending,
		failpoint.RelayBeforePark, failpoint.RelayAfterPark)
}

// poisoned is a sink that rejects the records of keys that begin with "poison", permanently.
type poisoned struct {
	driver.Sink
}

func (p poisoned) Send(ctx context.Context, records []outbox.Record) []outbox.Result {
	results := make([]outbox.Result, len(records))
	var good []outbox.Record
	var places []int
	rejected := map[string]bool{}
	for i := range records {
		switch {
		case !strings.HasPrefix(records[i].Key, "poison"):
			good, places = append(good, records[i]), append(places, i)
		case rejected[records[i].Key]:
			results[i] = outbox.NotSent()
		default:
			results[i] = outbox.Failed(outbox.FailurePermanent, errBusiness)
			rejected[records[i].Key] = true
		}
	}
	if len(good) > 0 {
		for i, r := range p.Sink.Send(ctx, good) {
			results[places[i]] = r
		}
	}
	return results
}

// trouble is a relay that fails at a point, with producers around it.
type trouble struct {
	t      *testing.T
	ob     *pgoutbox.Outbox
	db     *testenv.Database
	broker *outboxtest.Broker
	points *failpointtest.Registry
	want   []string // payloads of key "k", in order
	parked int      // poisoned records
}

func newTrouble(t *testing.T) *trouble {
	t.Helper()
	ob, db := newOutbox(t, pgoutbox.Config{})
	return &trouble{t: t, ob: ob, db: db, broker: outboxtest.NewBroker(), points: &failpointtest.Registry{}}
}

// produce commits a few transactions of every kind.
func (w *trouble) produce(name string) {
	w.t.Helper()
	late := begin(w.t, w.ob, w.db).put("k", name+" late")
	put(w.t, w.ob, "poison of "+name, name+" poison")
	put(w.t, w.ob, "", name+" unordered")
	late.commit()
	for i := range 8 {
		put(w.t, w.ob, "k", fmt.Sprint(name, i))
	}
	w.want = append(w.want, name+" late")
	for i := range 8 {
		w.want = append(w.want, fmt.Sprint(name, i))
	}
	w.parked++
}

func (w *trouble) relay() (*relay.Relay, error) {
	return relay.New(source(w.t, w.ob, ""), poisoned{w.broker.Sink()}, relay.Config{
		PageSize: 3, BackoffMin: time.Millisecond, BackoffMax: 10 * time.Millisecond, PollMax: 10 * time.Millisecond,
		Lease: 1500 * time.Millisecond, PublishTimeout: 500 * time.Millisecond, LeaseMargin: 100 * time.Millisecond,
	})
}

// run starts a relay, with the failpoints or without.
func (w *trouble) run(points bool) (stop func() error) {
	w.t.Helper()
	r, err := w.relay()
	require.NoError(w.t, err)
	ctx := w.t.Context()
	if points {
		ctx = failpointtest.With(ctx, w.points)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	w.t.Cleanup(cancel)
	return func() error {
		cancel()
		return <-done
	}
}

// reach produces until the point has been hit the given number of times.
func (w *trouble) reach(point failpoint.Name, hits int) {
	w.t.Helper()
	reached := w.points.Reached(point, hits)
	for i := range 100 {
		w.produce(fmt.Sprintf("r%d-", i))
		select {
		case <-reached:
			return
		case <-time.After(30 * time.Millisecond): // a relay has other things to do
		}
	}
	require.Fail(w.t, "the point was not reached", "%s, %d times", point, hits)
}

// expect waits until every message is delivered, in the order of its key, or parked.
func (w *trouble) expect() []outbox.Record {
	w.t.Helper()
	log, err := w.broker.AwaitDistinct(w.t.Context(), len(w.want)+w.parked) // an unordered one for each that is parked
	require.NoError(w.t, err)
	ofKey := slices.DeleteFunc(firsts(log), func(r outbox.Record) bool { return r.Key != "k" })
	require.Equal(w.t, w.want, payloads(ofKey))
	await(w.t, "the poison is parked", func() bool {
		return query1[int](w.t, w.db, "SELECT count(*) FROM leat.outbox_parked") == w.parked
	})
	return log
}

// copies returns the highest number of copies of one record.
func copies(log []outbox.Record) (most int) {
	count := map[int64]int{}
	for i := range log {
		count[log[i].Seq]++
		most = max(most, count[log[i].Seq])
	}
	return most
}

// TestO9_PausedPastTheLease pauses a relay at each point until its lease has ended and another one has
// taken over. What the first relay does when it wakes up changes neither positions nor order.
//
//leat:level 2
func TestO9_PausedPastTheLease(t *testing.T) {
	t.Parallel()
	for _, point := range allRelayPoints() {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			w := newTrouble(t)
			released := make(chan struct{})
			stopped := failpointtest.Call(func(context.Context) error {
				<-released // deaf to its context, as a process that is stopped
				return nil
			})
			require.NoError(t, w.points.EnableAt(point, hitOf(point), failpointtest.Call(func(context.Context) error {
				return w.points.Enable(failpoint.RelayBeforeRenew, stopped)
			})))
			require.NoError(t, w.points.EnableAt(point, hitOf(point), stopped))
			stopFirst := w.run(true)
			w.reach(point, hitOf(point))
			exec(t, w.db, "UPDATE leat.outbox_leases SET lease_until = clock_timestamp()") // a renewal under way gains one more
			stopSecond := w.run(false)
			w.produce("second-")
			w.expect()
			close(released)
			w.produce("third-")
			log := w.expect()
			require.NoError(t, stopFirst())
			require.NoError(t, stopSecond())
			require.LessOrEqual(t, copies(log), 2)
			r, err := w.relay()
			require.NoError(t, err)
			n, err := r.RunOnce(t.Context())
			require.NoError(t, err)
			require.Zero(t, n, "O12: the position has not gone back")
		})
	}
}

// TestO13_StoppedAtEveryPoint ends the context of a relay at each point: it stops cleanly, and the next
// relay sends the rest, once.
//
//leat:level 2
func TestO13_StoppedAtEveryPoint(t *testing.T) {
	t.Parallel()
	for _, point := range append(allRelayPoints(), failpoint.RelayCloseMidBatch) {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			w := newTrouble(t)
			r, err := w.relay()
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(failpointtest.With(t.Context(), w.points))
			at, hits := point, hitOf(point)
			if point == failpoint.RelayCloseMidBatch { // is passed by a send that the end of the context finds under way
				at, hits = failpoint.RelayLeaseLostWhileSending, 1
			}
			require.NoError(t, w.points.EnableAt(at, hits, failpointtest.Cancel(cancel)))
			done := make(chan error, 1)
			go func() { done <- r.Run(ctx) }()
			w.reach(point, hits)
			require.NoError(t, <-done)
			require.Zero(t, query1[int](t, w.db, "SELECT count(*) FROM leat.outbox_leases WHERE owner IS NOT NULL"))
			w.run(false)
			w.produce("next-")
			require.Equal(t, 1, copies(w.expect()), "O10: a clean stop repeats nothing")
		})
	}
}

// TestO2_CutAtEveryPoint ends the relay's connections to PostgreSQL at each point.
//
//leat:level 2
func TestO2_CutAtEveryPoint(t *testing.T) {
	t.Parallel()
	for _, point := range allRelayPoints() {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			w := newTrouble(t)
			require.NoError(t, w.points.EnableAt(point, hitOf(point), failpointtest.Call(func(ctx context.Context) error {
				_, err := w.db.Pool.Exec(context.WithoutCancel(ctx), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
					WHERE datname = current_database() AND application_name LIKE 'leat%'`)
				return err
			})))
			stop := w.run(true)
			w.reach(point, hitOf(point))
			w.produce("after-")
			log := w.expect()
			require.NoError(t, stop())
			require.LessOrEqual(t, copies(log), 2)
		})
	}
}
