package sqlforward_test

import (
	"context"
	"database/sql"
	"log"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wmsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/components/forwarder"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/sqlforward"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

//leat:level 1
func TestMain(m *testing.M) {
	if err := testenv.SideBySide(); err != nil {
		log.Fatal(err)
	}
	testenv.Main(m)
}

// forwarderTopic is Watermill's default topic of forwarders.
const forwarderTopic = "forwarder_topic"

// table is a forwarder's table in a database of its own, together with an outbox.
type table struct {
	db      *sql.DB
	plain   *sql.DB // Watermill's: on MySQL, it cannot store JSON with interpolateParams
	config  *mysql.Config
	dialect outbox.Dialect
	ob      *sqloutbox.Outbox
	schema  wmsql.SchemaAdapter
	offsets wmsql.OffsetsAdapter
	cfg     sqlforward.Config
}

func (x *table) initialize(t *testing.T) {
	t.Helper()
	var err error
	x.ob, err = sqloutbox.New(x.db, x.dialect, sqloutbox.Config{})
	require.NoError(t, err)
	require.NoError(t, x.ob.Migrate(t.Context()))
	require.NoError(t, x.subscriber(t).SubscribeInitialize(forwarderTopic))
}

// subscriber returns the subscriber that a forwarder reads with.
func (x *table) subscriber(t *testing.T) *wmsql.Subscriber {
	t.Helper()
	sub, err := wmsql.NewSubscriber(wmsql.BeginnerFromStdSQL(x.plain), wmsql.SubscriberConfig{
		SchemaAdapter: x.schema, OffsetsAdapter: x.offsets, InitializeSchema: true,
		PollInterval: 5 * time.Millisecond, ResendInterval: 5 * time.Millisecond, RetryInterval: 5 * time.Millisecond,
	}, watermill.NopLogger{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = sub.Close() })
	return sub
}

// publish publishes as a producer of the forwarder does.
func (x *table) publish(tx *sql.Tx, key string, payloads ...string) error {
	pub, err := wmsql.NewPublisher(wmsql.TxFromStdSQL(tx), wmsql.PublisherConfig{SchemaAdapter: x.schema}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	msgs := make([]*message.Message, len(payloads))
	for i, p := range payloads {
		msgs[i] = message.NewMessage(watermill.NewUUID(), []byte(p))
		msgs[i].Metadata.Set(outbox.HeaderKey, key)
	}
	return forwarder.NewPublisher(pub, forwarder.PublisherConfig{}).Publish("events", msgs...)
}

// open publishes in a transaction that stays open.
func (x *table) open(t *testing.T, key string, payloads ...string) *sql.Tx {
	t.Helper()
	tx, err := x.plain.BeginTx(context.WithoutCancel(t.Context()), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback() })
	require.NoError(t, x.publish(tx, key, payloads...))
	return tx
}

func (x *table) put(t *testing.T, key string, payloads ...string) {
	t.Helper()
	require.NoError(t, x.open(t, key, payloads...).Commit())
}

// forwarder returns a Forwarder, after its migration.
func (x *table) forwarder(t *testing.T) *sqlforward.Forwarder {
	t.Helper()
	f, err := sqlforward.New(x.db, x.dialect, x.ob, x.cfg)
	require.NoError(t, err)
	require.NoError(t, f.Migrate(t.Context()))
	return f
}

// move moves all rows that can be moved, and returns how many gaps are left.
func (x *table) move(t *testing.T, f *sqlforward.Forwarder) (missing int) {
	t.Helper()
	r, err := f.RunOnce(t.Context())
	require.NoError(t, err)
	return r.Missing
}

// moved returns the payloads in the outbox, in order.
func (x *table) moved(t *testing.T) (all []string) {
	t.Helper()
	rows, err := x.db.QueryContext(t.Context(), "SELECT payload FROM leat_outbox WHERE shard >= 0 ORDER BY seq")
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	for rows.Next() {
		var payload string
		require.NoError(t, rows.Scan(&payload))
		all = append(all, payload)
	}
	require.NoError(t, rows.Err())
	return all
}

func (x *table) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	_, err := x.db.ExecContext(t.Context(), statement, args...)
	require.NoError(t, err, statement)
}

// watermill runs Watermill's own forwarder until the returned function is called.
func (x *table) watermill(t *testing.T, sent chan<- string, block <-chan struct{}) (stop func()) {
	t.Helper()
	f, err := forwarder.NewForwarder(x.subscriber(t), collector{sent, block}, watermill.NopLogger{}, forwarder.Config{})
	require.NoError(t, err)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	go func() { ended <- f.Run(ctx) }()
	<-f.Running()
	return func() {
		require.NoError(t, f.Close())
		cancel()
		require.NoError(t, <-ended)
	}
}

// idle waits until Watermill's forwarder has recorded that it has sent everything.
func (x *table) idle(t *testing.T) {
	t.Helper()
	unsent := "SELECT COUNT(*) FROM watermill_forwarder_topic WHERE acked = FALSE"
	if !x.cfg.Queue {
		unsent = "SELECT COUNT(*) FROM watermill_forwarder_topic WHERE `offset` > " +
			"(SELECT COALESCE(MAX(offset_acked), 0) FROM watermill_offsets_forwarder_topic)"
	}
	require.Eventually(t, func() bool {
		left := -1
		return x.db.QueryRowContext(t.Context(), unsent).Scan(&left) == nil && left == 0
	}, time.Minute, 10*time.Millisecond)
}

// collector is a publisher that passes on what a forwarder sends.
type collector struct {
	sent  chan<- string
	block <-chan struct{}
}

func (c collector) Publish(_ string, msgs ...*message.Message) error {
	for _, m := range msgs {
		c.sent <- string(m.Payload)
		if c.block != nil {
			<-c.block
		}
	}
	return nil
}

func (c collector) Close() error { return nil }
