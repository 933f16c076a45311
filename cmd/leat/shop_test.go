package main_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	outboxdriver "github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// shop is a database in which something has gone wrong.
type shop struct {
	*testenv.Database

	ob *pgoutbox.Outbox
}

func newShop(t *testing.T) *shop {
	t.Helper()
	return newShopIn(t, testenv.Postgres(t, migrated()))
}

// newShopWithout has a database without a schema.
func newShopWithout(t *testing.T) *shop {
	t.Helper()
	return newShopIn(t, testenv.Postgres(t))
}

func newShopIn(t *testing.T, db *testenv.Database) *shop {
	t.Helper()
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	return &shop{db, ob}
}

// migrated is a database with an outbox.
func migrated() testenv.Template {
	return testenv.Template{
		Name: "command", Version: testenv.VersionOf(pgoutbox.Migrations(pgoutbox.Config{})),
		Apply: func(ctx context.Context, url string) error {
			pool, err := pgxpool.New(ctx, url)
			if err != nil {
				return err
			}
			defer pool.Close()
			ob, err := pgoutbox.New(pool, pgoutbox.Config{})
			if err != nil {
				return err
			}
			return ob.Migrate(ctx)
		},
	}
}

func (s *shop) enqueue(t *testing.T, messages ...outbox.Message) {
	t.Helper()
	require.NoError(t, s.ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		return s.ob.Enqueue(ctx, tx, messages...)
	}))
}

func placed(id, topic, key, payload string) outbox.Message {
	return outbox.Message{ID: id, Topic: topic, Key: key, Type: "placed", Payload: []byte(payload), Headers: map[string]string{"tenant": "blue"}}
}

// store is what a shop is in.
type store interface {
	enqueue(t *testing.T, messages ...outbox.Message)
	source(t *testing.T, group string) outboxdriver.Source
	inbox(t *testing.T, consumer string, cfg inbox.Config) consumer
}

// consumer is the inbox of a consumer.
type consumer interface {
	Migrate(ctx context.Context) error
	Process(ctx context.Context, msg *message.Message, handle func(context.Context) error) (inbox.Outcome, error)
}

func (s *shop) source(t *testing.T, group string) outboxdriver.Source {
	t.Helper()
	source, err := s.ob.Source(pgoutbox.SourceConfig{Group: group, Start: outboxdriver.Start{Oldest: true}})
	require.NoError(t, err)
	return source
}

func (s *shop) inbox(t *testing.T, consumer string, cfg inbox.Config) consumer {
	t.Helper()
	in, err := pginbox.New(s.Pool, consumer, pginbox.Config{Config: cfg})
	require.NoError(t, err)
	return in
}

// relayOnce relays once; what refuse returns an error for is refused for good.
func relayOnce(t *testing.T, s store, group string, policy relay.Policy, refuse func(outbox.Record) error) {
	t.Helper()
	sink, err := relay.Func(func(_ context.Context, r outbox.Record) error {
		if err := refuse(r); err != nil {
			return outbox.Failed(outbox.FailurePermanent, err).Err
		}
		return nil
	}, relay.FuncConfig{})
	require.NoError(t, err)
	r, err := relay.New(s.source(t, group), sink, relay.Config{Policies: []relay.Policy{policy}, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	_, err = r.RunOnce(t.Context())
	require.NoError(t, err)
}

func (s *shop) relay(t *testing.T, group string, refuse func(outbox.Record) error) {
	t.Helper()
	relayOnce(t, s, group, relay.Policy{}, refuse)
}

func ifBad(err error) func(outbox.Record) error {
	return func(r outbox.Record) error {
		if string(r.Payload) == "bad" {
			return err
		}
		return nil
	}
}

func nothing(outbox.Record) error { return nil }

// trouble parks two keys, gives a mail up, and delays a message.
func trouble(t *testing.T, s store) {
	t.Helper()
	s.enqueue(t,
		placed("m-1", "orders", "order-1", `{"total":30}`), placed("m-2", "orders", "order-1", "bad"), placed("m-3", "orders", "order-1", `{"total":31}`),
		placed("m-4", "orders", "order-2", `{"total":5}`), placed("m-5", "orders.eu", "order-3", "bad"),
		placed("m-6", "mails", "ann", "\xff\x00"),
	)
	delayed := placed("m-7", "reminders", "order-1", "pay")
	delayed.NotBefore = time.Now().Add(time.Hour)
	s.enqueue(t, delayed)
	relayOnce(t, s, "", relay.Policy{Topics: "orders*"}, ifBad(errors.New("no schema 17\x1b[31m for\nbad")))
	relayOnce(t, s, "mail", relay.Policy{Action: relay.DeadLetter}, func(r outbox.Record) error {
		if r.Topic == "mails" {
			return errors.New("mailbox is full")
		}
		return nil
	})
}

func (s *shop) trouble(t *testing.T) {
	t.Helper()
	trouble(t, s)
}

// consume lets consumers process, fail and park messages, and remember positions.
func (s *shop) consume(t *testing.T) {
	t.Helper()
	consume(t, s)
	s.positions(t)
}

// consume lets consumers process, fail and park messages.
func consume(t *testing.T, s store) {
	t.Helper()
	in := s.inbox(t, "loyalty", inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 1, Delay: inbox.NoDelay}})
	require.NoError(t, in.Migrate(t.Context()))
	for _, m := range []struct{ id, key, payload string }{
		{"m-1", "order-1", "fine"}, {"m-2", "order-2", "bad"}, {"m-3", "order-2", "fine"}, {"m-4", "order-3", "bad"}, {"m-5", "order-4", "bad"},
	} {
		msg := message.NewMessage(m.id, []byte(m.payload))
		msg.Metadata.Set("leat_key", m.key)
		_, _ = in.Process(t.Context(), msg, func(context.Context) error {
			if m.payload == "bad" {
				return errors.New("customer 12 is unknown")
			}
			return nil
		})
	}
	failing(t, s)
}

// parkInbox parks a message of consumer loyalty.
func (s *shop) parkInbox(t *testing.T, id, key string) {
	t.Helper()
	in := s.inbox(t, "loyalty", inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 1, Delay: inbox.NoDelay}})
	msg := message.NewMessage(id, nil)
	msg.Metadata.Set("leat_key", key)
	_, _ = in.Process(t.Context(), msg, func(context.Context) error { return errors.New("customer 12 is unknown") })
}

// failing is a consumer with a message that is to be tried again.
func failing(t *testing.T, s store) {
	t.Helper()
	in := s.inbox(t, "billing", inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 10, Delay: inbox.NoDelay}})
	_, err := in.Process(t.Context(), message.NewMessage("m-9", nil), func(context.Context) error { return errors.New("ledger is closed") })
	require.ErrorContains(t, err, "ledger is closed")
}

// logID is the id of a topic, as Kafka gives it.
const logID = "6b0f3a52-7c1d-4e8e-9a44-5d2f0c7b1e90"

func (s *shop) positions(t *testing.T) {
	t.Helper()
	in, err := pgwatermark.New(s.Pool, "stock", []string{"orders"}, pgwatermark.Config{})
	require.NoError(t, err)
	_, err = in.Assigned(t.Context(), []driver.Assignment{{Source: logID, Topic: "orders", Start: 0, End: 3}})
	require.NoError(t, err)
	handle := in.Handle(func(context.Context, *message.Message) error { return nil })
	msg := message.NewMessage("", nil)
	msg.SetContext(driver.WithPosition(t.Context(), driver.Position{Source: logID, Topic: "orders", Offset: 0, Prev: -1, Serial: true}))
	require.NoError(t, handle(msg))
}
