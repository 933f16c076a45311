package kafkasource_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/internal/testenv"
)

// A3: a subscriber without a logger of its own says why it reads nothing: the topic is
// missing, or there is no broker.
//
//nolint:paralleltest // slog.Default belongs to the process
func TestA3_SubscriberTellsWhyItReadsNothing(t *testing.T) {
	kafka := testenv.Kafka(t)
	for name, c := range map[string]struct {
		brokers []string
		want    []string
	}{
		"no topic":  {kafka.Brokers, []string{"WARN", kafka.Name("missing"), "does not exist: create it"}},
		"no broker": {[]string{"127.0.0.1:1"}, []string{"WARN", kafka.Name("missing"), "cannot be reached", "127.0.0.1:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			log, before := testenv.NewLog(), slog.Default()
			t.Cleanup(func() { slog.SetDefault(before) })
			slog.SetDefault(log.Logger())
			sub, err := kafkasource.NewSubscriber(c.brokers, kafka.Name("readers"), kafkasource.Config{
				SessionTimeout: 6 * time.Second, // looks every 400 ms
			})
			require.NoError(t, err)
			_, err = sub.Subscribe(t.Context(), kafka.Name("missing"))
			require.NoError(t, err)
			log.Await(t, c.want...)
			require.NoError(t, sub.Close())
		})
	}
}

// TestA3_GroupOfAnotherClient: a deploy replaces watermill-kafka by this package, whose members balance differently. The
// log says what to set; with that, both share the group.
func TestA3_GroupOfAnotherClient(t *testing.T) {
	t.Parallel()
	env := testenv.RealKafka(t)
	topic, group := env.Topic(t, "shared", 2), env.Name("group")
	for partition := range int32(2) {
		require.NoError(t, client(t, env.Brokers).ProduceSync(t.Context(), record(topic, partition, "a", "")).FirstErr())
	}
	old, err := kgo.NewClient(kgo.SeedBrokers(env.Brokers...), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic),
		kgo.Balancers(kgo.RangeBalancer()))
	require.NoError(t, err)
	defer old.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, old.PollRecords(ctx, 1).Err()) // it is a member
	log := testenv.NewLog()
	cfg := brisk()
	cfg.Logger = log.Logger()
	s := newSubscriber(t, env.Brokers, group, cfg)
	subscribe(t, s, topic)
	log.Await(t, "WARN", "kgo.Balancers(kgo.RangeBalancer())", group)
	require.NoError(t, s.Close())

	cfg.Options = append(cfg.Options, kgo.Balancers(kgo.RangeBalancer()))
	receive(t, subscribe(t, newSubscriber(t, env.Brokers, group, cfg), topic)).Ack()
}
