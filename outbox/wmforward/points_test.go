package wmforward_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/wmforward"
)

// first returns what was delivered and begins with prefix, each payload once.
func (c *collector) first(prefix string) (got []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, payload := range c.got {
		if len(payload) >= len(prefix) && payload[:len(prefix)] == prefix && !slices.Contains(got, payload) {
			got = append(got, payload)
		}
	}
	return got
}

// named returns a pool whose connections can be told from others.
func named(t *testing.T, db *testenv.Database, name string) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(db.URL)
	require.NoError(t, err)
	config.ConnConfig.RuntimeParams["application_name"] = name
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// traffic is a forwarder's table, producers, and a relay to which something happens.
type traffic struct {
	t       *testing.T
	db      *testenv.Database
	own     *pgxpool.Pool // of the relay
	parking *wmforward.Source
	sink    *collector
	points  *failpointtest.Registry
	want    []string // payloads of the key
}

func newTraffic(t *testing.T) *traffic {
	t.Helper()
	db := newDatabase(t)
	return &traffic{
		t: t, db: db, own: named(t, db, "leat relay"), parking: newSource(t, db, wmforward.Config{}),
		sink: &collector{refuse: "poison"}, points: &failpointtest.Registry{},
	}
}

// run relays until ctx ends; the channel gets what Run returns.
func (f *traffic) run(ctx context.Context) <-chan error {
	f.t.Helper()
	src, err := wmforward.New(f.own, wmforward.Config{})
	require.NoError(f.t, err)
	r, err := relay.New(src, f.sink, relay.Config{
		PageSize:   1, // every window of two records has a page that is not its last, so the position is stored
		BackoffMin: time.Millisecond, BackoffMax: 10 * time.Millisecond, PollMax: 10 * time.Millisecond,
	})
	require.NoError(f.t, err)
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return done
}

// action is what happens.
func (f *traffic) action(kind string, cancel context.CancelFunc) failpointtest.Action {
	switch kind {
	case "error":
		return failpointtest.Error(nil)
	case "cancel":
		return failpointtest.Cancel(cancel)
	default: // cut
		return failpointtest.Call(func(context.Context) error {
			_, err := f.db.Pool.Exec(context.Background(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"+
				" WHERE datname = current_database() AND application_name = 'leat relay'")
			return err
		})
	}
}

// write commits two messages of the key, and poison of another.
func (f *traffic) write() {
	f.t.Helper()
	n := len(f.want)
	f.want = append(f.want, fmt.Sprint("k", n), fmt.Sprint("k", n+1))
	put(f.t, f.db, "key", f.want[n:]...)
	put(f.t, f.db, fmt.Sprint("of ", n), "poison")
}

// writeUntil writes until the point is reached.
func (f *traffic) writeUntil(reached <-chan struct{}) {
	f.t.Helper()
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for range 3000 {
		f.write()
		select {
		case <-reached:
			return
		case <-pause.C:
		}
	}
	require.Fail(f.t, "the point was not reached")
}

// expect waits until all is where it belongs.
func (f *traffic) expect() {
	f.t.Helper()
	require.Eventually(f.t, func() bool { return len(f.sink.first("k")) >= len(f.want) }, time.Minute, 5*time.Millisecond)
	require.Equal(f.t, f.want, f.sink.first("k"))
	require.Eventually(f.t, func() bool {
		all, err := f.parking.Held(f.t.Context(), admin.HeldQuery{State: admin.HeldParked, Limit: 1000})
		return err == nil && len(all) == len(f.want)/2
	}, time.Minute, 20*time.Millisecond)
}

// TestO2_EveryPointOfAForwardersTable lets something happen at each point that belongs
// to this source: all is delivered, in the order of its key, or parked.
//
//leat:level 2
func TestO2_EveryPointOfAForwardersTable(t *testing.T) {
	t.Parallel()
	for point, hit := range map[failpoint.Name]int{
		failpoint.RelayWindowOpened: 2, failpoint.RelayLatePositionWrite: 2, failpoint.RelayAdvanceAmbiguous: 2,
		failpoint.RelayBeforeFinishWindow: 2, failpoint.RelayBeforePark: 1, failpoint.RelayAfterPark: 1,
	} {
		for _, kind := range []string{"error", "cancel", "cut"} {
			t.Run(fmt.Sprintf("%s/%s", point, kind), func(t *testing.T) {
				t.Parallel()
				f := newTraffic(t)
				ctx, cancel := context.WithCancel(failpointtest.With(t.Context(), f.points))
				defer cancel()
				require.NoError(t, f.points.EnableAt(point, hit, f.action(kind, cancel)))
				done := f.run(ctx)
				f.writeUntil(f.points.Reached(point, hit))
				again, stop := context.WithCancel(t.Context())
				defer stop()
				if kind == "cancel" {
					require.NoError(t, <-done)
					done = f.run(again)
				}
				f.write()
				f.expect()
				cancel()
				stop()
				require.NoError(t, <-done)
			})
		}
	}
}
