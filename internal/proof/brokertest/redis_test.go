package brokertest_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/redissink"
)

// streamOf subscribes a group to the streams of the server at addr.
func streamOf(addr string) connect {
	return func(t *testing.T, group string) (message.Publisher, message.Subscriber) {
		t.Helper()
		client := func() redis.UniversalClient { // each closes its own
			c := redis.NewClient(&redis.Options{Addr: addr, ReadTimeout: -1, PoolTimeout: patience})
			t.Cleanup(func() { _ = c.Close() })
			return c
		}
		publisher, err := redisstream.NewPublisher(redisstream.PublisherConfig{Client: client()}, watermill.NopLogger{})
		require.NoError(t, err)
		subscriber, err := redisstream.NewSubscriber(redisstream.SubscriberConfig{
			Client: client(), Consumer: watermill.NewShortUUID(), ConsumerGroup: group,
			BlockTime: 10 * time.Millisecond, ClaimInterval: 3 * time.Second, MaxIdleTime: 5 * time.Second,
		}, watermill.NopLogger{})
		require.NoError(t, err)
		return publisher, subscriber
	}
}

//leat:level 2
func TestRedis(t *testing.T) {
	t.Parallel()
	addr := testenv.PrivateRedis(t, nil).Addr
	run(t, tests.Features{GuaranteedOrderWithSingleSubscriber: true}, false, streamOf(addr))
}

// TestRedissinkIsReadByWatermill: Watermill's subscriber reads what redissink writes, whatever the size of
// the headers.
func TestRedissinkIsReadByWatermill(t *testing.T) {
	t.Parallel()
	addr := testenv.PrivateRedis(t, nil).Addr
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	sink, err := redissink.New(&redis.UniversalOptions{Addrs: []string{addr}}, redissink.Config{Ack: redissink.AckMemory})
	require.NoError(t, err)
	defer func() { require.NoError(t, sink.Close()) }()
	all := make([]outbox.Record, 20)
	for i := range all {
		headers := make(map[string]string)
		for h := range 1 << (i / 2) {
			headers["header-"+strconv.Itoa(h)] = string(make([]byte, i*i*i*i))[:min(i*i*i*i, 70_000>>(i/2))]
		}
		all[i] = outbox.Record{Seq: int64(i + 1), CreatedAt: time.Unix(int64(i), 0).UTC(), Message: outbox.Message{
			ID: strconv.Itoa(i), Topic: "t", Key: "k" + strconv.Itoa(i%3), Type: "Placed", Headers: headers, Payload: make([]byte, i),
		}}
	}
	for _, result := range sink.Send(ctx, all) {
		require.NoError(t, result.Err)
	}
	_, subscriber := streamOf(addr)(t, "group")
	defer func() { require.NoError(t, subscriber.Close()) }()
	messages, err := subscriber.Subscribe(ctx, "t")
	require.NoError(t, err)
	for i := range all {
		m := <-messages
		require.NotNil(t, m, "record %d", i)
		want := outbox.ToWatermill(&all[i])
		require.Equal(t, want.UUID, m.UUID)
		require.Equal(t, want.Metadata, m.Metadata)
		require.Equal(t, string(want.Payload), string(m.Payload))
		m.Ack()
	}
}
