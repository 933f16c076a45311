package roles

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
)

// publisher returns a function that publishes an event inside its transaction. The event is sent even if
// the transaction rolls back.
func (p *process) publisher() (publish func(context.Context, outbox.Message) error, done func(), err error) {
	client, err := p.producer()
	if err != nil {
		return nil, nil, err
	}
	publish = func(ctx context.Context, m outbox.Message) error {
		return client.ProduceSync(ctx, record(m.Topic, m.Key, m.ID, m.Payload)).FirstErr()
	}
	return publish, client.Close, nil
}

func (p *process) producer() (*kgo.Client, error) {
	client, err := kgo.NewClient(append(p.kafkaOptions(), kgo.SeedBrokers(p.Brokers...), kgo.ProducerLinger(0))...)
	if err != nil {
		return nil, fmt.Errorf("make a kafka client: %w", err)
	}
	return client, nil
}

func record(topic, key, id string, payload []byte) *kgo.Record {
	return &kgo.Record{
		Topic: topic, Key: []byte(key), Value: payload,
		Headers: []kgo.RecordHeader{{Key: outbox.HeaderEventID, Value: []byte(id)}},
	}
}

// relayByNumber uses a number as a position. Numbers are drawn before the commit, so a late commit can
// have a number that was already passed. Only one process runs it.
func (p *process) relayByNumber(ctx context.Context) error {
	s, err := p.openStore(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	client, err := p.producer()
	if err != nil {
		return err
	}
	defer client.Close()
	for ctx.Err() == nil {
		n, err := pageByNumber(ctx, s, client)
		p.settled.Add(int64(n))
		if err != nil {
			p.watch.seen("retry of a page")
		}
		if n == 0 {
			wait.Full(ctx, 5*time.Millisecond)
		}
	}
	return nil
}

// pageByNumber sends the messages whose numbers are above the cursor, and moves the cursor.
func pageByNumber(ctx context.Context, s store, client *kgo.Client) (int, error) {
	messages, last, err := s.page(ctx)
	if err != nil || len(messages) == 0 {
		return 0, err
	}
	var records []*kgo.Record
	for _, m := range messages {
		records = append(records, record(m.Topic, m.Key, m.ID, m.Payload))
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return 0, fmt.Errorf("publish a page: %w", err)
	}
	return len(records), s.moveCursor(ctx, last)
}

// ackFirst acknowledges a message before it is processed.
func ackFirst(next message.HandlerMiddleware) message.HandlerMiddleware {
	return func(h message.HandlerFunc) message.HandlerFunc {
		handle := next(h)
		return func(msg *message.Message) ([]*message.Message, error) {
			late := msg.Copy()
			late.SetContext(context.WithoutCancel(msg.Context()))
			go func() {
				defer func() { _ = recover() }()
				_, _ = handle(late)
			}()
			return nil, nil
		}
	}
}

// withoutInbox runs a handler in a transaction that does not record the message.
func (p *process) withoutInbox(s store) message.HandlerMiddleware {
	return func(h message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) {
			own := msg.Context()
			defer msg.SetContext(own)
			err := s.inTx(own, func(ctx context.Context) error {
				msg.SetContext(ctx)
				out, err := h(msg)
				if err != nil || len(out) == 0 {
					return err
				}
				m, err := outbox.FromWatermill(TopicReceipts, out[0], nil)
				if err != nil {
					return err
				}
				return s.EnqueueContext(ctx, m)
			})
			switch {
			case errors.Is(err, errPoison):
				return nil, nil
			case err != nil:
				p.watch.seen("rollback of the effect")
				return nil, err
			}
			p.effects.Add(1)
			p.note(history.Line{Type: history.Effect, ID: msg.UUID, Consumer: Ledger})
			return nil, nil
		}
	}
}
