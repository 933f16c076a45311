package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/wmoutbox"
)

// consumerName is what the inbox remembers events by. It never changes.
const consumerName = "repository-stats"

//go:embed sql/postgres/count_event.sql
var countEvent string

// counted is the event that the consumer makes of each webhook.
type counted struct {
	EventID    string `json:"event_id"`
	Repository string `json:"repository"`
	N          int64  `json:"n"`
}

// consume is a service that counts the events of each repository, in its own
// database, and tells of it through its own outbox and relay.
func consume(ctx context.Context, s settings) error {
	pool, err := pgxpool.New(ctx, s.ConsumerDB)
	if err != nil {
		return err
	}
	defer pool.Close()
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	if err != nil {
		return err
	}
	in, err := pginbox.New(pool, consumerName, pginbox.Config{})
	if err != nil {
		return err
	}
	source, err := ob.Source(pgoutbox.SourceConfig{})
	if err != nil {
		return err
	}
	bench := newConsumerBench(s)
	router, err := newRouter(s, in, ob, sabotagedGuard(s, ob), count, bench)
	if err != nil {
		return err
	}
	return consumeAndRelay(ctx, s, router, source, bench)
}

// consumeAndRelay runs the router and the relay of what its handler enqueues.
func consumeAndRelay(
	ctx context.Context, s settings, router *message.Router, source driver.Source, bench *consumerBench,
) error {
	// The relay runs in the same process: there is one process less, and each commit
	// wakes it. It ends after the router; what it has not sent by then is sent when
	// the service starts again.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	relayCtx, stopRelay := context.WithCancel(context.WithoutCancel(ctx))
	relayed := make(chan error, 1)
	go func() {
		defer cancel() // without a relay, no router
		relayed <- carry(relayCtx, source, s.Brokers)
	}()
	err := router.Run(ctx)
	stopRelay()
	return errors.Join(err, <-relayed, bench.save(context.WithoutCancel(ctx)))
}

// newRouter returns an ordinary Watermill router on Kafka, with one line added.
func newRouter(
	s settings, in inbox.Runner, ob outbox.Enqueuer, guard guardFunc, handler message.HandlerFunc, bench *consumerBench,
) (*message.Router, error) {
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NewSlogLogger(logger))
	if err != nil {
		return nil, err
	}
	sub, err := newSubscriber(s, logger, bench)
	if err != nil {
		return nil, err
	}
	pub, err := wmoutbox.NewPublisher(ob, wmoutbox.Config{})
	if err != nil {
		return nil, err
	}

	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: in, Outbox: ob}) // this is the line
	if err != nil {
		return nil, err
	}
	router.AddMiddleware(bench.tally, guard(once), bench.stumble)
	router.AddHandler("count", s.Topic, sub, s.Counted, pub, handler)
	return router, nil
}

// count is the handler. Its writes, the event that it returns and the memory of
// having handled the message commit together, or not at all.
func count(msg *message.Message) ([]*message.Message, error) {
	ctx := msg.Context()
	event := counted{EventID: msg.UUID, Repository: msg.Metadata.Get(outbox.HeaderKey)}
	err := pginbox.Tx(ctx).QueryRow(ctx, countEvent, event.EventID, event.Repository, time.Now().UnixMicro()).Scan(&event.N)
	if err != nil {
		return nil, fmt.Errorf("count event %s: %w", msg.UUID, err)
	}
	return event.tell()
}

// tell returns the message that tells of the count.
func (event counted) tell() ([]*message.Message, error) {
	payload, err := json.Marshal(event)
	if err != nil {
		return nil, err
	}
	// The same event makes the same id, should the handler run again.
	out := message.NewMessage(inbox.ChildID(event.EventID, consumerName, "counted"), payload)
	out.Metadata.Set(outbox.HeaderKey, event.Repository)
	out.Metadata.Set(outbox.HeaderEventType, "repository.counted")
	return []*message.Message{out}, nil
}

// newSubscriber returns a subscriber that has messages of many repositories in flight
// and one of each, so that the quiet ones do not wait for the busy one.
func newSubscriber(s settings, logger *slog.Logger, hooks ...outbox.Hook) (message.Subscriber, error) {
	return kafkasource.NewSubscriber(s.Brokers, s.Group, kafkasource.Config{
		MaxInFlight:    8, // each has a connection to the database
		RedeliverDelay: 10 * time.Millisecond,
		CommitInterval: 200 * time.Millisecond,
		Logger:         logger,
		Hooks:          hooks,
	})
}
