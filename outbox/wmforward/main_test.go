package wmforward_test

import (
	"context"
	"errors"
	"log"
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	wmsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/components/forwarder"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/wmforward"
)

//leat:level 1
func TestMain(m *testing.M) {
	if err := testenv.SideBySide(); err != nil {
		log.Fatal(err)
	}
	testenv.Main(m)
}

// forwarderTopic is Watermill's default.
const forwarderTopic = "forwarder_topic"

// newDatabase returns a database with the tables that a forwarder's subscriber
// makes, and its zero position.
func newDatabase(tb testing.TB) *testenv.Database {
	tb.Helper()
	return testenv.Postgres(tb, initialized())
}

// initialized is a database with the tables that a forwarder's subscriber makes.
func initialized() testenv.Template {
	return testenv.Template{Name: "wmforward", Version: "watermill-sql v4", Apply: func(ctx context.Context, url string) error {
		pool, err := pgxpool.New(ctx, url)
		if err != nil {
			return err
		}
		defer pool.Close()
		sub, err := wmsql.NewSubscriber(wmsql.BeginnerFromPgx(pool), wmsql.SubscriberConfig{
			SchemaAdapter:    wmsql.DefaultPostgreSQLSchema{},
			OffsetsAdapter:   wmsql.DefaultPostgreSQLOffsetsAdapter{},
			InitializeSchema: true,
		}, watermill.NopLogger{})
		if err != nil {
			return err
		}
		return errors.Join(sub.SubscribeInitialize(forwarderTopic), sub.Close())
	}}
}

// publish publishes as a producer of the forwarder does, in its transaction.
func publish(tb testing.TB, tx pgx.Tx, topic string, msgs ...*message.Message) {
	tb.Helper()
	require.NoError(tb, tryPublish(tx, topic, msgs...))
}

func tryPublish(tx pgx.Tx, topic string, msgs ...*message.Message) error {
	pub, err := wmsql.NewPublisher(wmsql.TxFromPgx(tx), wmsql.PublisherConfig{
		SchemaAdapter: wmsql.DefaultPostgreSQLSchema{},
	}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	return forwarder.NewPublisher(pub, forwarder.PublisherConfig{}).Publish(topic, msgs...)
}

// texts are messages of key whose payloads tell them apart.
func texts(key string, payloads ...string) []*message.Message {
	msgs := make([]*message.Message, len(payloads))
	for i, p := range payloads {
		msgs[i] = message.NewMessage(watermill.NewUUID(), []byte(p))
		if key != "" {
			msgs[i].Metadata.Set(outbox.HeaderKey, key)
		}
	}
	return msgs
}

// put commits messages of key in one transaction.
func put(tb testing.TB, db *testenv.Database, key string, payloads ...string) {
	tb.Helper()
	require.NoError(tb, pgx.BeginFunc(tb.Context(), db.Pool, func(tx pgx.Tx) error {
		return tryPublish(tx, "events", texts(key, payloads...)...)
	}))
}

// writer is a transaction on a connection of its own, moved by hand.
type writer struct {
	pgx.Tx

	tb testing.TB
}

func begin(tb testing.TB, db *testenv.Database) *writer {
	tb.Helper()
	tx, err := db.Connect(tb).Begin(tb.Context())
	require.NoError(tb, err)
	return &writer{tx, tb}
}

func (w *writer) put(key string, payloads ...string) *writer {
	w.tb.Helper()
	publish(w.tb, w.Tx, "events", texts(key, payloads...)...)
	return w
}

// xid draws the transaction's number.
func (w *writer) xid() uint64 {
	w.tb.Helper()
	var xid uint64
	require.NoError(w.tb, w.QueryRow(w.tb.Context(), "SELECT pg_current_xact_id()").Scan(&xid))
	return xid
}

func (w *writer) commit() {
	w.tb.Helper()
	require.NoError(w.tb, w.Commit(w.tb.Context()))
}

// newSource returns a migrated source.
func newSource(tb testing.TB, db *testenv.Database, cfg wmforward.Config) *wmforward.Source {
	tb.Helper()
	src, err := wmforward.New(db.Pool, cfg)
	require.NoError(tb, err)
	require.NoError(tb, src.Migrate(tb.Context()))
	return src
}

// acquire starts a session, which is released when the test ends.
func acquire(tb testing.TB, src driver.Source) driver.Session {
	tb.Helper()
	s, err := src.Acquire(tb.Context(), testLease)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = s.Release(context.Background()) }) // a second release does not concern the test
	return s
}

// readAll reads and settles pages of limit until nothing is left.
func readAll(tb testing.TB, s driver.Session, limit int) []outbox.Record {
	tb.Helper()
	var all []outbox.Record
	for {
		page, err := s.Read(tb.Context(), limit)
		require.NoError(tb, err)
		require.False(tb, page.Waiting)
		if len(page.Records) == 0 {
			return all
		}
		all = append(all, page.Records...)
		require.NoError(tb, s.Advance(tb.Context(), page, len(page.Records)))
	}
}

// drain reads everything in a session of its own.
func drain(tb testing.TB, src driver.Source) []string {
	tb.Helper()
	s, err := src.Acquire(tb.Context(), testLease)
	require.NoError(tb, err)
	all := readAll(tb, s, 100)
	require.NoError(tb, s.Release(tb.Context()))
	return payloads(all)
}

func payloads(records []outbox.Record) []string {
	var all []string
	for i := range records {
		all = append(all, string(records[i].Payload))
	}
	return all
}

func exec(tb testing.TB, db *testenv.Database, sql string, args ...any) {
	tb.Helper()
	_, err := db.Pool.Exec(tb.Context(), sql, args...)
	require.NoError(tb, err, sql)
}

// query1 returns the one value of a query.
func query1[T any](tb testing.TB, db *testenv.Database, sql string, args ...any) T {
	tb.Helper()
	var v T
	require.NoError(tb, db.Pool.QueryRow(tb.Context(), sql, args...).Scan(&v), sql)
	return v
}
