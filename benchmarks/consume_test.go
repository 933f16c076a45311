package benchmarks

import (
	"context"
	"errors"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/kafkasource"
)

// consumerLanes is how many messages a consumer has in hand at the same time.
const consumerLanes = 8

// consume runs a Watermill router whose one handler gets the messages of topic, from
// the oldest on, until stop is called.
func consume(
	ctx context.Context, brokers []string, topic, group string, handle message.NoPublishHandlerFunc,
) (stop func() error, err error) {
	sub, err := kafkasource.NewSubscriber(brokers, group, kafkasource.Config{Concurrency: consumerLanes, MaxInFlight: consumerLanes})
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
	select {
	case <-router.Running():
	case err := <-ended:
		return nil, errors.Join(err, sub.Close())
	}
	return func() error { return errors.Join(router.Close(), <-ended, sub.Close()) }, nil
}

// consumeBatches hands batches of the topic's messages to handle, those of different
// partitions at the same time.
func consumeBatches(
	ctx context.Context, brokers []string, topic, group string, handle inbox.BatchFunc,
) (stop func() error, err error) {
	sub, err := kafkasource.NewSubscriber(brokers, group, kafkasource.Config{})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- sub.RunBatches(ctx, topic, kafkasource.BatchFunc(handle)) }()
	return func() error {
		cancel()
		return errors.Join(<-ended, sub.Close())
	}, nil
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
