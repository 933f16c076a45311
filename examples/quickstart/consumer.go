package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/wmoutbox"
)

// consumerName is the name under which the inbox remembers events. It never changes.
const consumerName = "repository-stats"

// counted is the event that the consumer makes of each webhook.
type counted struct {
	EventID    string `json:"event_id"`
	Repository string `json:"repository"`
	N          int64  `json:"n"`
}

// consumer is a service that counts the events of each repository in its own database, and
// publishes the counts through its own outbox and relay.
type consumer struct {
	*performance

	log *slog.Logger

	// The rest belongs to the test bench.

	ready    chan struct{} // closed when it has its partitions
	assigned sync.Once
	mu       sync.Mutex
	begun    map[int32]bool // partitions with a record that the storm has seen
	stumbled map[place]bool // records whose handler has failed once
}

// place is the position of a record in the topic.
type place struct {
	partition int32
	offset    int64
}

// serve runs the router and the relay of what its handler enqueues.
//
// The relay runs in the same process, so that each commit wakes it. It ends after the router.
// Events that it has not sent by then are sent when the service starts again.
func (c *consumer) serve(ctx context.Context) error {
	router, err := c.router()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	relayCtx, stopRelay := context.WithCancel(context.WithoutCancel(ctx))
	relayed := make(chan error, 1)
	go func() {
		defer cancel() // the router ends with the relay
		relayed <- carry(relayCtx, c.stats.source, c.settings.Brokers, c.log)
	}()
	err = router.Run(ctx)
	stopRelay()
	return errors.Join(err, <-relayed)
}

// router returns an ordinary Watermill router on Kafka, with one line added.
func (c *consumer) router() (*message.Router, error) {
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NewSlogLogger(c.log))
	if err != nil {
		return nil, err
	}
	// Messages of many repositories are in flight and one of each, so that the quiet ones do not
	// wait for the busy one.
	sub, err := kafkasource.NewSubscriber(c.settings.Brokers, c.group, kafkasource.Config{
		MaxInFlight:    8, // each has a connection to the database
		RedeliverDelay: 10 * time.Millisecond,
		CommitInterval: 200 * time.Millisecond,
		Marks:          c.stats.inbox, // a database that goes back takes the group with it
		Logger:         c.log,
		Hooks:          []outbox.Hook{c},
	})
	if err != nil {
		return nil, err
	}
	pub, err := wmoutbox.NewPublisher(c.stats.outbox, wmoutbox.Config{})
	if err != nil {
		return nil, err
	}
	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: c.stats.inbox, Outbox: c.stats.outbox}) // this is the line
	if err != nil {
		return nil, err
	}
	router.AddMiddleware(c.tally, c.sabotaged(once), c.stumble)
	router.AddHandler("count", c.settings.Topic, sub, c.counted, pub, c.count)
	return router, nil
}

// count is the handler. Its writes, the event that it returns and the memory of the message commit
// together, or not at all.
func (c *consumer) count(msg *message.Message) ([]*message.Message, error) {
	ctx := msg.Context()
	tx := c.stats.tx(ctx)
	event := counted{EventID: msg.UUID, Repository: msg.Metadata.Get(outbox.HeaderKey)}
	_, err := c.stats.exec(ctx, tx, "count_event", event.Repository)
	if err == nil {
		event.N, err = c.stats.scan(ctx, tx, "counted", event.Repository)
	}
	if err == nil {
		_, err = c.stats.exec(ctx, tx, "record_effect", event.EventID, event.Repository, event.N, time.Now().UnixMicro())
	}
	if err != nil {
		return nil, fmt.Errorf("count event %s: %w", msg.UUID, err)
	}
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

// The rest is the test bench, which counts deliveries and makes some handlers fail.

// stumbleShare: one event in stumbleShare fails at first.
const stumbleShare = 100

// errStumble is the error of a handler that has done everything right.
var errStumble = errors.New("the handler stumbles after its writes")

func (p *performance) newConsumer(log *slog.Logger) *consumer {
	return &consumer{
		performance: p, log: log, ready: make(chan struct{}), begun: map[int32]bool{}, stumbled: map[place]bool{},
	}
}

// OnDriverSource signals to the demo that the consumer has partitions. With one consumer they all
// come at once.
func (c *consumer) OnDriverSource(_ context.Context, e driver.SourceEvent) {
	if e.Kind == kafkasource.Assigned {
		c.assigned.Do(func() { close(c.ready) })
	}
}

// tally is a middleware around the inbox: it counts the acknowledged deliveries, including repeats.
func (c *consumer) tally(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		out, err := h(msg)
		if err == nil {
			c.run.acknowledged(msg.UUID)
		}
		return out, err
	}
}

// stumble is a middleware inside the inbox: for one event in a hundred, and for the first of each
// partition, the handler's first run fails after all its writes. The same happens for each copy of
// the event. All of this starts with the storm.
func (c *consumer) stumble(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		out, err := h(msg)
		if err == nil && c.stumbles(msg) {
			return nil, errStumble
		}
		return out, err
	}
}

func (c *consumer) stumbles(msg *message.Message) bool {
	r, ok := kafkasource.RecordFrom(msg.Context())
	if !ok || !c.run.storm.Load() {
		return false
	}
	at := place{partition: r.Partition, offset: r.Offset}
	c.mu.Lock()
	defer c.mu.Unlock()
	first := !c.begun[r.Partition]
	c.begun[r.Partition] = true
	doomed := c.run.doom(msg.UUID, first)
	if c.stumbled[at] || !oneIn(stumbleShare, msg.UUID) && !doomed {
		return false
	}
	c.stumbled[at] = true
	return true
}

// oneIn chooses one id in n, always the same ones.
func oneIn(n uint32, id string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return h.Sum32()%n == 0
}
