package benchmarks

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/inbox/pginbox"
)

// consumerLanes is how many messages a consumer has in hand at the same time.
const consumerLanes = 8

// consume runs a Watermill router whose one handler gets the messages of topic, from
// the oldest on, until stop is called. It returns when the consumer has the topic's
// partitions.
func consume(
	ctx context.Context, brokers []string, topic, group string, handle message.NoPublishHandlerFunc,
) (stop func() error, err error) {
	joined := newJoining()
	sub, err := kafkasource.NewSubscriber(brokers, group, kafkasource.Config{
		Concurrency: consumerLanes, MaxInFlight: consumerLanes, Seek: joined.seek,
	})
	if err != nil {
		return nil, err
	}
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		return nil, errors.Join(err, sub.Close())
	}
	router.AddConsumerHandler("effects", topic, sub, handle)
	ended := make(chan error, 1)
	go func() { ended <- router.Run(ctx) }()
	stop = func() error { return errors.Join(router.Close(), <-ended, sub.Close()) }
	return joined.await(ended, stop)
}

// consumeBatches hands batches of the topic's messages to handle, those of different
// partitions at the same time. It returns when the consumer has the partitions.
func consumeBatches(
	ctx context.Context, brokers []string, topic, group string, handle inbox.BatchFunc,
) (stop func() error, err error) {
	joined := newJoining()
	sub, err := kafkasource.NewSubscriber(brokers, group, kafkasource.Config{Seek: joined.seek})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- sub.RunBatches(ctx, topic, handle) }()
	stop = func() error {
		cancel()
		return errors.Join(<-ended, sub.Close())
	}
	return joined.await(ended, stop)
}

// joining tells when a consumer has been assigned partitions.
type joining struct {
	once sync.Once
	done chan struct{}
}

func newJoining() *joining { return &joining{done: make(chan struct{})} }

// seek leaves the partitions where they begin.
func (j *joining) seek(_ context.Context, parts []driver.Assignment) ([]int64, error) {
	j.once.Do(func() { close(j.done) })
	from := make([]int64, len(parts))
	for i, p := range parts {
		from[i] = p.From
	}
	return from, nil
}

func (j *joining) await(ended chan error, stop func() error) (func() error, error) {
	select {
	case <-j.done:
		return stop, nil
	case err := <-ended:
		ended <- nil // for stop
		return nil, errors.Join(errors.New("the consumer has ended"), err, stop())
	case <-time.After(time.Minute):
		return nil, errors.Join(errors.New("the consumer was assigned no partitions"), stop())
	}
}

// inTx is handle with the transaction of its delivery. M is a message, or those of a batch.
func inTx[M any](handle func(ctx context.Context, tx pgx.Tx, m M) error) func(ctx context.Context, m M) error {
	return func(ctx context.Context, m M) error { return handle(ctx, pginbox.Tx(ctx), m) }
}

// insertEffect is a handler that leaves one row a message.
func insertEffect(ctx context.Context, tx pgx.Tx, msg *message.Message) error {
	_, err := tx.Exec(ctx, insertFirst, msg.UUID, msg.Payload)
	return err
}

// insertEffects is the same in one statement for a batch.
func insertEffects(ctx context.Context, tx pgx.Tx, msgs []*message.Message) error {
	ids, bodies := make([]string, len(msgs)), make([][]byte, len(msgs))
	for i, msg := range msgs {
		ids[i], bodies[i] = msg.UUID, msg.Payload
	}
	_, err := tx.Exec(ctx, "INSERT INTO effects (message, body) SELECT * FROM unnest($1::uuid[], $2::bytea[])", ids, bodies)
	return err
}
