package serializable

import (
	"context"
	stdsql "database/sql"
	"errors"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
)

// incumbent is a subscriber with its table.
type incumbent struct {
	db      *stdsql.DB
	sub     *sql.Subscriber
	arrived <-chan *message.Message
	log     testbed.Log
}

const topic = "orders"

func subscribe(ctx context.Context, bed *testbed.Testbed) (x *incumbent, err error) {
	x = &incumbent{}
	if x.db, err = bed.MariaDB(ctx, "exhibit"); err != nil {
		return nil, err
	}
	x.sub, err = sql.NewSubscriber(sql.BeginnerFromStdSQL(x.db), sql.SubscriberConfig{
		SchemaAdapter: sql.DefaultMySQLSchema{}, OffsetsAdapter: sql.DefaultMySQLOffsetsAdapter{},
		PollInterval: 20 * time.Millisecond, InitializeSchema: true,
	}, nil)
	if err != nil {
		return nil, err
	}
	x.arrived, err = x.sub.Subscribe(ctx, topic)
	return x, err
}

// publish publishes a message in a transaction, or on the pool, where it commits at once.
func publish(ctx context.Context, on sql.ContextExecutor, id string) error {
	pub, err := sql.NewPublisher(on, sql.PublisherConfig{SchemaAdapter: sql.DefaultMySQLSchema{}}, nil)
	if err != nil {
		return err
	}
	msg := message.NewMessage(id, []byte(`{}`))
	msg.SetContext(ctx)
	return pub.Publish(topic, msg)
}

// take acks messages until there are n.
func (x *incumbent) take(ctx context.Context, n int) error {
	for len(x.log.IDs()) < n {
		msg, err := testbed.Next(ctx, x.arrived)
		if err != nil {
			return err
		}
		x.log.Add(msg.UUID)
		msg.Ack()
	}
	return nil
}

// awaitLock waits until a transaction of the database waits for a lock of another one. It polls slowly,
// since the server refreshes its list only if the last read was more than 100 ms ago.
func awaitLock(ctx context.Context, db *stdsql.DB) error {
	return testbed.Until(ctx, func(ctx context.Context) (bool, error) {
		select {
		case <-time.After(150 * time.Millisecond):
		case <-ctx.Done():
			return false, ctx.Err()
		}
		var n int
		err := db.QueryRowContext(ctx, `SELECT COUNT(*) FROM information_schema.innodb_trx t
			JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
			WHERE t.trx_state = 'LOCK WAIT' AND p.db = DATABASE()`).Scan(&n)
		return n > 0, err
	})
}

func openOnWatermillSQL(ctx context.Context, bed *testbed.Testbed) (o exhibit.Outcome, err error) {
	x, err := subscribe(ctx, bed)
	if err != nil {
		return o, err
	}
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return o, err
	}
	if err := publish(ctx, sql.TxFromStdSQL(tx), "rolled back"); err != nil {
		return o, errors.Join(err, tx.Rollback())
	}
	committed, err := commitAll(func(id string) error { return publish(ctx, sql.BeginnerFromStdSQL(x.db), id) })
	if err == nil {
		bed.Say("  a producer's transaction is open, %d messages of others are committed", messages)
		err = awaitLock(ctx, x.db)
	}
	for more := true; more; { // take what has arrived by now
		select {
		case msg := <-x.arrived:
			x.log.Add(msg.UUID)
			msg.Ack()
		default:
			more = false
		}
	}
	late := messages - len(x.log.IDs())
	bed.Say("  the subscriber waits for that transaction; %d of %d have arrived; it is rolled back", messages-late, messages)
	if err = errors.Join(err, tx.Rollback()); err == nil {
		err = x.take(ctx, messages)
	}
	bed.Say("  now %d have", len(x.log.IDs()))
	o = exhibit.Judge(committed, x.log.IDs())
	o.Late = late
	return o, errors.Join(err, x.sub.Close())
}

// commitAll commits the messages, each in a transaction of its own.
func commitAll(commit func(id string) error) (committed []exhibit.Event, err error) {
	for n := range messages {
		id := "m" + strconv.Itoa(n+1)
		if err := commit(id); err != nil {
			return committed, err
		}
		committed = append(committed, exhibit.Event{ID: id})
	}
	return committed, nil
}

func handledOnWatermillSQL(ctx context.Context, bed *testbed.Testbed) (o exhibit.Outcome, err error) {
	x, err := subscribe(ctx, bed)
	if err != nil {
		return o, err
	}
	if err := publish(ctx, sql.BeginnerFromStdSQL(x.db), "m1"); err != nil {
		return o, err
	}
	handled, err := testbed.Next(ctx, x.arrived)
	if err != nil {
		return o, err
	}
	x.log.Add(handled.UUID)
	done := make(chan error, 1)
	go func() { done <- publish(ctx, sql.BeginnerFromStdSQL(x.db), "m2") }()
	err = awaitLock(ctx, x.db)
	select {
	case failed := <-done:
		return o, errors.Join(err, failed, errors.New("the producer did not wait"), x.sub.Close())
	default:
		o.Late = 1
	}
	bed.Say("  a message is handled; a producer waits until it is acked")
	handled.Ack()
	if err = errors.Join(err, <-done); err == nil {
		err = x.take(ctx, 2)
	}
	late := o.Late
	o = exhibit.Judge([]exhibit.Event{{ID: "m1"}, {ID: "m2"}}, x.log.IDs())
	o.Late = late
	return o, errors.Join(err, x.sub.Close())
}
