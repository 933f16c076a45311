package pgoutbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// logical starts a server on which logical replication is allowed. Creating a replication slot waits for
// all transactions of a server, so these tests share no server with others.
func logical(tb testing.TB) *testenv.PostgresServer {
	tb.Helper()
	return testenv.PrivatePostgres(tb, testenv.PostgresOptions{Settings: map[string]string{
		"fsync": "off", "wal_level": "logical", "max_replication_slots": "60", "max_wal_senders": "60",
		"wal_sender_timeout": "10s", "max_connections": "400", "max_prepared_transactions": "10",
	}})
}

const publish = "CREATE PUBLICATION leat FOR TABLE leat.outbox WITH (publish = 'insert', publish_via_partition_root = true)"

// tailed returns an outbox with a publication, in a database of its own on server.
func tailed(tb testing.TB, server *testenv.PostgresServer) (*pgoutbox.Outbox, *testenv.Database) {
	tb.Helper()
	db := server.Database(tb, migrated())
	_, err := db.Pool.Exec(context.Background(), publish)
	require.NoError(tb, err)
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(tb, err)
	return ob, db
}

// tailEvents receives the events of a tail.
type tailEvents chan driver.TailEvent

// OnDriverTail implements driver.TailHook.
func (e tailEvents) OnDriverTail(_ context.Context, event driver.TailEvent) { e <- event }

func (e tailEvents) next(tb testing.TB) driver.TailEvent {
	tb.Helper()
	select {
	case event := <-e:
		return event
	case <-time.After(30 * time.Second):
		require.FailNow(tb, "the tail tells nothing")
		return driver.TailEvent{}
	}
}

// tailSession is a session that follows a tail.
type tailSession struct {
	driver.Session
	driver.Tailed

	t      testing.TB
	events tailEvents
	wakes  <-chan struct{}
}

// session returns the Session, since the methods of both embedded types have the same names.
func (s *tailSession) session() driver.Session { return s.Session }

// followed acquires a session whose tail follows and is joined.
func followed(tb testing.TB, ob *pgoutbox.Outbox, cfg pgoutbox.TailConfig) *tailSession {
	tb.Helper()
	s := follow(tb, ob, cfg)
	event := s.events.next(tb)
	require.NoError(tb, event.Err)
	require.True(tb, event.Follows)
	s.join()
	return s
}

func follow(tb testing.TB, ob *pgoutbox.Outbox, cfg pgoutbox.TailConfig) *tailSession {
	tb.Helper()
	events := make(tailEvents, 1000)
	cfg.Hooks = []outbox.Hook{events}
	source, err := ob.Source(pgoutbox.SourceConfig{Tail: &cfg, Start: driver.Start{Oldest: true}})
	require.NoError(tb, err)
	wakes := source.Wakes(tb.Context())
	session, err := source.Acquire(context.Background(), testLease)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = session.Release(context.Background()) })
	s := &tailSession{Session: session, Tailed: session.(driver.Tailed), t: tb, events: events, wakes: wakes}
	s.Follow(true)
	return s
}

// join reads until messages arrive early.
func (s *tailSession) join() {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return len(s.read().Records) == 0 && pgoutbox.IsJoined(s.session()) }, 30*time.Second, time.Millisecond)
}

func (s *tailSession) read() driver.Page {
	s.t.Helper()
	page, err := s.session().Read(context.Background(), 100)
	require.NoError(s.t, err)
	return page
}

func (s *tailSession) settle(page driver.Page) {
	s.t.Helper()
	require.NoError(s.t, s.session().Advance(context.Background(), page, len(page.Records)))
}

// awaitPage reads until there is a page.
func (s *tailSession) awaitPage() driver.Page {
	s.t.Helper()
	for {
		page := s.read()
		if len(page.Records) > 0 {
			return page
		}
		select {
		case <-s.wakes:
		case <-time.After(20 * time.Second):
			require.FailNow(s.t, "nothing comes")
		}
	}
}

// awaitPolled is awaitPage for messages that may come without a wake.
func (s *tailSession) awaitPolled() driver.Page {
	s.t.Helper()
	var page driver.Page
	require.Eventually(s.t, func() bool {
		page = s.read()
		return len(page.Records) > 0
	}, 30*time.Second, time.Millisecond)
	return page
}

// foreign commits messages like a producer that wakes no relay.
func foreign(tb testing.TB, ob *pgoutbox.Outbox, db *testenv.Database, key string, names ...string) {
	tb.Helper()
	tx, err := db.Pool.Begin(tb.Context())
	require.NoError(tb, err)
	require.NoError(tb, ob.Enqueue(tb.Context(), tx, keyed(key, names...)...))
	require.NoError(tb, tx.Commit(tb.Context()))
}
