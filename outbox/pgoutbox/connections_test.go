package pgoutbox_test

import (
	"bytes"
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// TestO13_SecondConnection: a session has a second connection only while one page follows another.
func TestO13_SecondConnection(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	s := acquire(t, ob, "")
	own := func() int { return connections(t, db, "leat relay default") }
	require.Equal(t, 1, own())
	put(t, ob, "k", "1", "2", "3")
	first, err := s.Read(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, 1, own(), "nothing is to be settled meanwhile")
	second, err := s.Read(t.Context(), 1)
	require.NoError(t, err)
	require.Len(t, second.Records, 1)
	require.Equal(t, 2, own(), "the next page must not keep the first from being settled")
	require.NoError(t, s.Advance(t.Context(), first, 1))
	require.NoError(t, s.Advance(t.Context(), second, 1))
	third, err := s.Read(t.Context(), 1)
	require.NoError(t, err)
	require.NoError(t, s.Advance(t.Context(), third, 1))
	await(t, "it is given back", func() bool {
		page, err := s.Read(t.Context(), 1)
		return err == nil && len(page.Records) == 0 && own() == 1
	})
}

// TestO13_WithoutASecondConnection: a relay that gets no second connection reads and settles in turn, and
// logs that once.
func TestO13_WithoutASecondConnection(t *testing.T) {
	t.Parallel()
	_, db := newOutbox(t, pgoutbox.Config{})
	pool, err := pgxpool.New(t.Context(), db.URL)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	var log lockedBuffer
	ob, err := pgoutbox.New(pool, pgoutbox.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	room := pgpin.RoomOf(pool)
	room.Limit(0)
	const n = 200
	var names []string
	for i := range n {
		names = append(names, strconv.Itoa(i))
	}
	put(t, ob, "k", names...)
	broker := outboxtest.NewBroker()
	r, err := relay.New(source(t, ob, ""), broker.Sink(), relay.Config{PageSize: 1})
	require.NoError(t, err)
	run := runRelay(t, r)
	_, err = broker.AwaitDistinct(t.Context(), n)
	require.NoError(t, err)
	require.Equal(t, 1, connections(t, db, "leat relay default"))
	require.Equal(t, 1, strings.Count(log.String(), "no second connection"), log.String())
	require.Equal(t, names, payloads(broker.Log()))

	room.Limit(1)
	await(t, "there is room again", func() bool {
		put(t, ob, "k", names...)
		return strings.Contains(log.String(), "there is a second connection for the relay again")
	})
	require.NoError(t, run.stop())
	require.True(t, room.Take(), "it was given back")
}

// lockedBuffer is a log that several goroutines write to.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestO14_RenewalDoesNotWaitForARead: an idle session polls on the connection that it renews its lease on.
// A poll that waits, here for a lock on the log, does not delay a renewal.
func TestO14_RenewalDoesNotWaitForARead(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	s := acquire(t, ob, "")
	put(t, ob, "k", "1")
	blocker, err := db.Connect(t).Begin(t.Context())
	require.NoError(t, err)
	_, err = blocker.Exec(t.Context(), "LOCK TABLE leat.outbox IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	read := make(chan driver.Page, 1)
	failed := make(chan error, 1)
	go func() {
		page, err := s.Read(t.Context(), 1)
		read <- page
		failed <- err
	}()
	await(t, "it waits", func() bool {
		return query1[bool](t, db, `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'leat relay default' AND wait_event_type = 'Lock')`)
	})
	const long = time.Hour
	require.NoError(t, s.Renew(t.Context(), long))
	require.Empty(t, read, "it still waits")
	require.Greater(t, query1[float64](t, db, "SELECT extract(epoch FROM lease_until - clock_timestamp())::float8 FROM leat.outbox_leases"), long.Seconds()/2)
	require.NoError(t, blocker.Rollback(t.Context()))
	require.Len(t, (<-read).Records, 1)
	require.NoError(t, <-failed)
}

// TestO13_OutboxesShareAListener: outboxes on one pool listen on one connection without knowing of each
// other. Their maintenance holds its leases on it, too, and each outbox hears only its own wakes.
func TestO13_OutboxesShareAListener(t *testing.T) {
	t.Parallel()
	_, db := newOutbox(t, pgoutbox.Config{})
	tables := []string{"outbox", "second", "third"}
	brokers := map[string]*outboxtest.Broker{}
	runs := map[string]*running{}
	producers := map[string]*pgoutbox.Outbox{}
	maintaining, end := context.WithCancel(t.Context())
	var maintained sync.WaitGroup
	for _, table := range tables {
		ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{Table: table})
		require.NoError(t, err)
		require.NoError(t, ob.Migrate(t.Context()))
		brokers[table] = outboxtest.NewBroker()
		m, err := pgoutbox.NewMaintenance(ob, pgoutbox.MaintenanceConfig{Lease: time.Second}) // renewed three times a second
		require.NoError(t, err)
		maintained.Go(func() { _ = m.Run(maintaining) })
		r, err := relay.New(source(t, ob, ""), brokers[table].Sink(), relay.Config{PollMin: never, PollMax: never})
		require.NoError(t, err)
		producers[table] = elsewhere(t, db, pgoutbox.Config{Table: table})
		runNotifier(t, producers[table])
		runs[table] = runRelay(t, r)
	}
	heard := func(tables ...string) {
		for _, table := range tables {
			before := len(brokers[table].Log())
			await(t, table+" is heard", func() bool {
				if len(brokers[table].Log()) > before {
					return true
				}
				put(t, producers[table], "k", "1") // until it listens, nobody is told
				return false
			})
		}
		await(t, "they listen on one", func() bool { return connections(t, db, "leat shared") == 1 })
	}
	heard(tables...)
	require.NoError(t, runs["outbox"].stop())
	heard("second", "third")
	exec(t, db, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'leat shared'")
	heard("third", "second")
	require.NoError(t, runs["second"].stop())
	require.NoError(t, runs["third"].stop())
	end()
	maintained.Wait()
	await(t, "nothing is left", func() bool { return connections(t, db, "leat shared") == 0 })
}

// TestO13_MaintenanceSharesAConnection: the maintenance of all outboxes on one pool holds its leases on
// one connection.
func TestO13_MaintenanceSharesAConnection(t *testing.T) {
	t.Parallel()
	_, db := newOutbox(t, pgoutbox.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, table := range []string{"outbox", "second", "third"} {
		ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{Table: table})
		require.NoError(t, err)
		require.NoError(t, ob.Migrate(t.Context()))
		m, err := pgoutbox.NewMaintenance(ob, pgoutbox.MaintenanceConfig{})
		require.NoError(t, err)
		all.Go(func() { _ = m.Run(ctx) })
	}
	await(t, "all hold their leases", func() bool {
		return query1[int](t, db, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock'
			AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'leat shared')`) == 6
	})
	require.Equal(t, 1, connections(t, db, "leat shared"))
	cancel()
	all.Wait()
	await(t, "nothing is left", func() bool { return connections(t, db, "leat shared") == 0 })
}

// TestO13_ReservedConnectionsAreLeftAlone: a relay whose role may use the reserved connections waits for
// another one instead.
//
//leat:level 4
func TestO13_ReservedConnectionsAreLeftAlone(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts a server of its own")
	_, ob, db := private(t, map[string]string{"max_connections": "12", "superuser_reserved_connections": "4"})
	put(t, ob, "k", "1")
	var hogs []*pgx.Conn
	for query1[int](t, db, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'") < 8 {
		hogs = append(hogs, db.Connect(t))
	}
	failed := make(chan error, 1000)
	broker := outboxtest.NewBroker()
	r, err := relay.New(source(t, ob, ""), broker.Sink(), relay.Config{BackoffMin: time.Millisecond, BackoffMax: 20 * time.Millisecond, Hooks: []outbox.Hook{onError(failed)}})
	require.NoError(t, err)
	run := runRelay(t, r)
	for range 3 {
		require.ErrorIs(t, <-failed, pgpin.ErrReserved)
	}
	for _, conn := range hogs {
		require.NoError(t, conn.Close(t.Context()))
	}
	_, err = broker.AwaitDistinct(t.Context(), 1)
	require.NoError(t, err)
	require.NoError(t, run.stop())
}

// TestO14_ReleasesSideBySide: an owner without a mark comes from a version of leat that locks nothing. Its
// lease counts until it ends, and our lease keeps such versions off, since they go by the time alone.
func TestO14_ReleasesSideBySide(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	src := source(t, ob, "")
	s, err := src.Acquire(t.Context(), time.Minute)
	require.NoError(t, err)
	require.NoError(t, s.Release(t.Context()))
	older := func() int64 {
		tag, err := db.Pool.Exec(t.Context(), `UPDATE leat.outbox_leases SET owner = 'older/1/x/7', epoch = epoch + 1, lease_until = clock_timestamp() + interval '2 s'
			WHERE relay_group = 'default' AND lease_until < clock_timestamp()`)
		require.NoError(t, err)
		return tag.RowsAffected()
	}
	require.EqualValues(t, 1, older())
	began := time.Now()
	var held *driver.LeaseHeldError
	_, err = source(t, ob, "").Acquire(t.Context(), time.Minute)
	require.ErrorAs(t, err, &held)
	require.Zero(t, held.Retry, "nobody can know whether it lives")
	await(t, "the older one's lease ends", func() bool {
		s, err = source(t, ob, "").Acquire(t.Context(), time.Minute)
		return err == nil
	})
	require.GreaterOrEqual(t, time.Since(began), time.Second)
	require.Zero(t, older(), "ours is marked, and counts")
	require.NoError(t, s.Release(t.Context()))
	require.EqualValues(t, 1, older())
}
