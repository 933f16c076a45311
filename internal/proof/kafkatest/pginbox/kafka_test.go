package pginbox_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
)

// outcomes is a hook that passes on the outcomes of deliveries.
type outcomes chan inbox.Outcome

// OnInboxDelivery implements inbox.DeliveryHook.
func (o outcomes) OnInboxDelivery(_ context.Context, d inbox.DeliveryEvent) {
	o <- d.Outcome
}

// await receives outcomes until n of them were want.
func (o outcomes) await(t *testing.T, want inbox.Outcome, n int) {
	t.Helper()
	timeout := time.NewTimer(time.Minute)
	defer timeout.Stop()
	for n > 0 {
		select {
		case got := <-o:
			if got == want {
				n--
			}
		case <-timeout.C:
			require.Fail(t, "outcomes are missing", "%d more of %s", n, want)
		}
	}
}

// TestI1_I3_OnKafka: behind watermill-kafka, a message whose handler fails is neither acked nor lost, and
// a topic that is redelivered from its start changes nothing.
func TestI1_I3_OnKafka(t *testing.T) {
	t.Parallel()
	const messages = 12
	db, broker := testenv.Postgres(t, template), testenv.Kafka(t)
	topic, group := broker.Topic(t, "events", 1), broker.Name("group")
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Brokers...))
	require.NoError(t, err)
	defer client.Close()
	admin := kadm.NewClient(client)
	for i := range messages {
		id := []byte("id-" + strconv.Itoa(i))
		record := &kgo.Record{Topic: topic, Headers: []kgo.RecordHeader{{Key: outbox.HeaderWatermillUUID, Value: id}}}
		require.NoError(t, client.ProduceSync(t.Context(), record).FirstErr())
	}

	ends := make(outcomes, 100)
	in, err := pginbox.New(db.Pool, "c", pginbox.Config{Config: inbox.Config{Hooks: []outbox.Hook{ends}}})
	require.NoError(t, err)
	h := &flaky{t: t, admin: admin, group: group, topic: topic, failed: map[string]bool{}}
	effects := func() (all, distinct int) {
		row := db.Pool.QueryRow(t.Context(), "SELECT count(*), count(DISTINCT effect) FROM effects")
		require.NoError(t, row.Scan(&all, &distinct))
		return all, distinct
	}

	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: in})
	require.NoError(t, err)
	stop := consume(t, broker, group, topic, once, h.handle)
	ends.await(t, inbox.OutcomeCommitted, messages)
	stop()
	require.Len(t, h.failed, messages/3)
	all, distinct := effects()
	require.Equal(t, []int{messages, messages}, []int{all, distinct})

	_, err = admin.DeleteGroup(t.Context(), group) // its offsets go back to the start
	require.NoError(t, err)
	stop = consume(t, broker, group, topic, once, h.handle)
	ends.await(t, inbox.OutcomeDuplicate, messages)
	stop()
	all, distinct = effects()
	require.Equal(t, []int{messages, messages}, []int{all, distinct})
}

// flaky is a handler that fails at first for every third message. It checks that no message is acked
// before its commit.
type flaky struct {
	t            *testing.T
	admin        *kadm.Client
	group, topic string
	failed       map[string]bool
}

func (h *flaky) handle(msg *message.Message) error {
	ctx := msg.Context()
	if _, err := pginbox.Tx(ctx).Exec(ctx, "INSERT INTO effects VALUES ($1)", msg.UUID); err != nil {
		return err
	}
	offset, _ := kafka.MessagePartitionOffsetFromCtx(ctx)
	acked, err := h.admin.FetchOffsets(ctx, h.group)
	if err != nil {
		return err
	}
	if o, ok := acked.Lookup(h.topic, 0); ok && o.At > offset {
		h.t.Errorf("offset %d is acked up to %d before its commit", offset, o.At)
	}
	if !h.failed[msg.UUID] && offset%3 == 0 {
		h.failed[msg.UUID] = true
		return errors.New("the first run fails")
	}
	return nil
}

// consume runs a router on topic until the returned function is called.
func consume(
	t *testing.T, broker *testenv.KafkaEnv, group, topic string, once message.HandlerMiddleware, handle message.NoPublishHandlerFunc,
) (stop func()) {
	t.Helper()
	cfg := kafka.DefaultSaramaSubscriberConfig()
	cfg.Consumer.Offsets.Initial = sarama.OffsetOldest
	sub, err := kafka.NewSubscriber(kafka.SubscriberConfig{
		Brokers: broker.Brokers, ConsumerGroup: group, OverwriteSaramaConfig: cfg,
		Unmarshaler: kafka.DefaultMarshaler{}, NackResendSleep: 10 * time.Millisecond,
	}, watermill.NopLogger{})
	require.NoError(t, err)
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	require.NoError(t, err)
	router.AddMiddleware(once)
	router.AddConsumerHandler("handler", topic, sub, handle)
	ended := make(chan error, 1)
	go func() { ended <- router.Run(context.Background()) }()
	return func() {
		require.NoError(t, router.Close())
		require.NoError(t, <-ended)
	}
}
