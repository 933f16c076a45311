package pgoutbox_test

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// replicated returns a primary with a standby that applies nothing while it is paused.
func replicated(t *testing.T) (*testenv.PostgresServer, *testenv.PostgresStandby) {
	t.Helper()
	testenv.Long(t, "starts servers of its own")
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{"fsync": "off"}})
	return server, server.Standby(t)
}

// split returns db as seen through a splitter.
func split(t *testing.T, db *testenv.Database, server *testenv.PostgresServer, standby *testenv.PostgresStandby, away func(sql string) bool) *testenv.Database {
	t.Helper()
	u, err := url.Parse(db.URL)
	require.NoError(t, err)
	u.Host = faultnet.Splitter{Primary: server.Address(), Standby: standby.Address(), Away: away}.Listen(t)
	u.RawQuery = "sslmode=disable&default_query_exec_mode=cache_describe"
	pool, err := pgxpool.New(t.Context(), u.String())
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return &testenv.Database{Name: db.Name, URL: u.String(), Pool: pool}
}

// TestR13_ThroughASplitter: what a relay reads from a lagging standby is never taken for everything that
// is committed. The position passes only what was sent.
func TestR13_ThroughASplitter(t *testing.T) {
	t.Parallel()
	server, standby := replicated(t)
	//nolint:paralleltest // the two share a standby, which each of them pauses
	t.Run("by functions", func(t *testing.T) {
		db := server.Database(t)
		loseNothing(t, standby, db, split(t, db, server, standby, faultnet.ByFunctions))
	})
	//nolint:paralleltest // see above
	t.Run("pgpool-II", func(t *testing.T) {
		db := server.Database(t)
		standby.Pause() // with the database
		loseNothing(t, standby, db, testenv.PgPool(t, db, server, standby))
	})
}

// loseNothing migrates, relays and produces through balanced while its standby is paused.
func loseNothing(t *testing.T, standby *testenv.PostgresStandby, db, balanced *testenv.Database) {
	t.Helper()
	standby.Pause()
	defer standby.Resume()
	log := testenv.NewLog()
	ob := elsewhere(t, balanced, pgoutbox.Config{Logger: log.Logger()})
	require.NoError(t, ob.Migrate(t.Context()))
	require.NoError(t, source(t, ob, "").Check(t.Context()))
	log.Await(t, "a read/write splitter stands before the database")
	standby.Resume()
	standby.Pause() // with the tables, and none of the rows

	early := begin(t, elsewhere(t, db, pgoutbox.Config{}), db).put("early", "early") // read by phase B
	brokers := map[string]*outboxtest.Broker{"all": outboxtest.NewBroker(), "some": outboxtest.NewBroker()}
	topics := map[string][]string{"some": {"ev*"}}
	var runs []*running
	for group, broker := range brokers {
		cfg := fastTakeover()
		cfg.PageSize = 50
		r, err := relay.New(sourceOf(t, ob, pgoutbox.SourceConfig{Group: group, Start: driver.Start{Oldest: true}, Topics: topics[group]}), broker.Sink(), cfg)
		require.NoError(t, err)
		runs = append(runs, runRelay(t, r))
	}
	const producers, each = 4, 20
	var producing sync.WaitGroup
	for p := range producers {
		producing.Go(func() {
			for i := range each {
				assert.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
					return ob.Enqueue(ctx, tx, keyed(strconv.Itoa(p), strconv.Itoa(i))...)
				}))
			}
		})
	}
	put(t, ob, "large", strings.Repeat("x", 900_000)) // read by page_large.sql
	producing.Wait()
	early.commit()
	for !query1[bool](t, db, passed) {
		put(t, ob, "nudge", "nudge") // opens the next window
	}
	for _, run := range runs {
		require.NoError(t, run.stop())
	}
	for group, broker := range brokers {
		sent := slices.DeleteFunc(firsts(broker.Log()), func(r outbox.Record) bool { return r.Key == "nudge" })
		assert.Zero(t, producers*each+2-len(sent), "lost of %d by group %s", producers*each+2, group)
	}
}

// passed is a query that returns true if the positions of both groups have passed all messages except the
// nudges.
const passed = `SELECT count(DISTINCT p.relay_group) = 2 AND bool_and(pg_visible_in_snapshot(o.xid, p.prev))
FROM leat.outbox o
CROSS JOIN (SELECT DISTINCT ON (relay_group) relay_group, prev FROM leat.outbox_positions ORDER BY relay_group, window_no DESC) p
WHERE o.key <> 'nudge'`

// TestR13_SplitterByText: a splitter that sends every SELECT to the standby is refused at the start. If it
// begins to do so later, the relay waits and loses nothing.
func TestR13_SplitterByText(t *testing.T) {
	t.Parallel()
	server, standby := replicated(t)
	db := server.Database(t, migrated())
	standby.Pause()
	var splits atomic.Bool
	ob := elsewhere(t, split(t, db, server, standby, func(string) bool { return splits.Load() }), pgoutbox.Config{})
	broker, failed := outboxtest.NewBroker(), make(chan error, 1000)
	cfg := fastTakeover()
	cfg.BackoffMax = 50 * time.Millisecond
	cfg.Hooks = []outbox.Hook{onError(failed)}
	r, err := relay.New(source(t, ob, ""), broker.Sink(), cfg)
	require.NoError(t, err)
	run := runRelay(t, r)
	put(t, ob, "k", "1")
	_, err = broker.AwaitDistinct(t.Context(), 1)
	require.NoError(t, err)

	splits.Store(true)
	put(t, ob, "k", "2", "3")
	require.ErrorIs(t, <-failed, pgerr.ErrStandby)
	refused := source(t, ob, "").Check(t.Context())
	require.ErrorIs(t, refused, driver.ErrSourceUnusable)
	require.ErrorIs(t, refused, pgerr.ErrStandby)
	require.ErrorContains(t, refused, "connect leat to the primary itself, past the read/write splitter")
	splits.Store(false)

	_, err = broker.AwaitDistinct(t.Context(), 3)
	require.NoError(t, err)
	require.NoError(t, run.stop())
	require.Equal(t, []string{"1", "2", "3"}, payloads(firsts(broker.Log())))
}
