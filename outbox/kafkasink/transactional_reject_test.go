package kafkasink_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// TestR12_PrefixBeforeProducing: a record that Kafka cannot take is named before
// anything is sent, and those before it can be sent in the same term.
func TestR12_PrefixBeforeProducing(t *testing.T) {
	t.Parallel()
	env := testenv.Kafka(t)
	for name, c := range map[string]struct {
		spoil func(r *outbox.Record)
		want  outbox.FailureKind
	}{
		"too large":     {func(r *outbox.Record) { r.Payload = make([]byte, 2<<20) }, outbox.FailurePermanent},
		"illegal topic": {func(r *outbox.Record) { r.Topic = "orders/placed" }, outbox.FailurePermanent},
		"unknown topic": {func(r *outbox.Record) { r.Topic = env.Name("missing") }, outbox.FailureOutage},
		"positions":     {func(r *outbox.Record) { r.Topic = env.Name("positions") }, outbox.FailurePermanent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTransactional(t, env, func(c *kafkasink.TransactionalConfig) {
				c.TransactionalIDPrefix += name
				c.TopicTimeout = time.Millisecond
			})
			topic := env.Topic(t, "of-"+strings.ReplaceAll(name, " ", "-"), 2)
			slot := map[string]string{"too large": "x/0", "illegal topic": "x/1", "unknown topic": "x/2", "positions": "x/3"}[name]
			_, err := s.Fence(within(t, patience), slot)
			require.NoError(t, err)
			page := records(topic, 10, 3, 0)
			c.spoil(&page[6])
			prefix := requirePrefix(t, s.SendWith(within(t, patience), slot, page, []byte("10")), 6)
			require.Equal(t, c.want, outbox.KindOf(prefix.Err))
			require.NoError(t, s.SendWith(within(t, patience), slot, page[:6], []byte("6")))
			require.Len(t, readCommitted(t, env.Brokers, topic), 6)
			position, err := s.Fence(within(t, patience), slot)
			require.NoError(t, err)
			require.Equal(t, "6", string(position))
		})
	}
}

func requirePrefix(t *testing.T, err error, n int) *driver.PrefixError {
	t.Helper()
	prefix, ok := errors.AsType[*driver.PrefixError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, n, prefix.N, "%v", err)
	return prefix
}

// TestR12_PrefixOfRejectedBatch: where the broker rejects a batch and names no
// record, the sink finds the first one at fault. What it has sent meanwhile was
// never committed.
func TestR12_PrefixOfRejectedBatch(t *testing.T) {
	t.Parallel()
	env := testenv.RealKafka(t)
	s := newTransactional(t, env, nil)
	topic := env.Name("orders")
	create(t, env, topic, 2, map[string]string{"cleanup.policy": "compact"})
	_, err := s.Fence(within(t, patience), slotZero)
	require.NoError(t, err)
	page := records(topic, 200, 7, 100)
	for _, i := range []int{77, 78, 150} { // Kafka refuses records without a key
		page[i].Key = ""
	}
	sent := 0
	for _, culprit := range []int{77, 78, 150} {
		prefix := requirePrefix(t, s.SendWith(within(t, patience), slotZero, page[sent:], []byte("all")), culprit-sent)
		require.Equal(t, outbox.FailurePermanent, outbox.KindOf(prefix.Err))
		if culprit > sent {
			require.NoError(t, s.SendWith(within(t, patience), slotZero, page[sent:culprit], []byte("some")))
		}
		page[culprit].Key = "key-0"
		sent = culprit
	}
	require.NoError(t, s.SendWith(within(t, patience), slotZero, page[sent:], []byte("all")))
	log := readCommitted(t, env.Brokers, topic)
	require.Len(t, log, 200)
	require.Empty(t, outOfOrder(t, page, log))
}

// TestR12_ZombieIsFenced: who was fenced commits nothing any more, whatever it had
// begun.
func TestR12_ZombieIsFenced(t *testing.T) {
	t.Parallel()
	env := testenv.RealKafka(t) // the fake accepts a producer id that is stale
	topic := env.Topic(t, "orders", 3)
	zombie, rightful := newTransactional(t, env, nil), newTransactional(t, env, nil)
	_, err := zombie.Fence(within(t, patience), slotZero)
	require.NoError(t, err)
	page := records(topic, 100, 5, 0)
	require.NoError(t, zombie.SendWith(within(t, patience), slotZero, page[:10], []byte("10")))
	client := kafkasink.LaneClient(zombie, slotZero)
	require.NoError(t, client.BeginTransaction())
	client.Produce(t.Context(), &kgo.Record{Topic: topic, Value: []byte("666")}, nil)
	require.NoError(t, client.Flush(within(t, patience)))

	position, err := rightful.Fence(within(t, patience), slotZero)
	require.NoError(t, err)
	require.Equal(t, "10", string(position))
	require.Error(t, client.EndTransaction(within(t, patience), kgo.TryCommit))
	require.NoError(t, rightful.SendWith(within(t, patience), slotZero, page[10:50], []byte("50")))
	require.Error(t, zombie.SendWith(within(t, patience), slotZero, page[10:], []byte("100")))
	require.ErrorIs(t, zombie.SendWith(within(t, patience), slotZero, page[10:], []byte("100")), kafkasink.ErrNotFenced)
	require.NoError(t, rightful.SendWith(within(t, patience), slotZero, page[50:], []byte("100")))
	log := readCommitted(t, env.Brokers, topic)
	require.Len(t, log, 100)
	require.Empty(t, outOfOrder(t, page, log))
}

// TestR12_PositionTopicIsChecked: a topic that loses positions is refused, and a
// position that is gone is never taken for none.
func TestR12_PositionTopicIsChecked(t *testing.T) {
	t.Parallel()
	env := testenv.RealKafka(t)
	client, err := kgo.NewClient(kgo.SeedBrokers(env.Brokers...))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	admin, policy := kadm.NewClient(client), "compact"
	for name, c := range map[string]struct {
		create bool
		spoil  func(t *testing.T, topic string)
		want   error
	}{
		"missing": {want: kafkasink.ErrNoPartition},
		"deletes": {spoil: func(t *testing.T, topic string) {
			t.Helper()
			createTopic(t, admin, topic, 3, nil)
		}, want: driver.ErrSourceUnusable},
		"too few partitions": {spoil: func(t *testing.T, topic string) {
			t.Helper()
			createTopic(t, admin, topic, 1, map[string]*string{"cleanup.policy": &policy})
		}, want: kafkasink.ErrNoPartition},
		"emptied": {create: true, spoil: func(t *testing.T, topic string) {
			t.Helper()
			storeOnce(t, env, topic, "lost/2")
			offsets := kadm.Offsets{}
			offsets.Add(kadm.Offset{Topic: topic, Partition: 2, At: -1})
			_, err := admin.DeleteRecords(t.Context(), offsets)
			require.NoError(t, err)
		}, want: driver.ErrSourceUnusable},
		"another group": {create: true, spoil: func(t *testing.T, topic string) {
			t.Helper()
			storeOnce(t, env, topic, "another/2")
		}, want: driver.ErrSourceUnusable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topic := env.Name(strings.ReplaceAll(name, " ", "-"))
			if c.spoil != nil {
				c.spoil(t, topic)
			}
			s := newTransactional(t, env, func(cfg *kafkasink.TransactionalConfig) {
				cfg.PositionTopic, cfg.CreatePositionTopic = topic, c.create
				cfg.TransactionalIDPrefix += topic
			})
			_, err := s.Fence(within(t, patience), "default/2")
			require.ErrorIs(t, err, c.want)
			require.ErrorIs(t, s.SendWith(within(t, patience), "default/2", nil, nil), kafkasink.ErrNotFenced)
		})
	}
}

// createTopic returns once the broker tells of the topic: it answers a creation
// before that.
func createTopic(t *testing.T, admin *kadm.Client, topic string, partitions int32, configs map[string]*string) {
	t.Helper()
	_, err := admin.CreateTopic(t.Context(), partitions, 1, configs, topic)
	require.NoError(t, err)
	ctx := within(t, patience)
	for {
		listed, err := admin.ListTopics(ctx, topic)
		require.NoError(t, err)
		if listed[topic].Err == nil && len(listed[topic].Partitions) == int(partitions) {
			return
		}
	}
}

// storeOnce stores a position of slot in topic.
func storeOnce(t *testing.T, env *testenv.KafkaEnv, topic, slot string) {
	t.Helper()
	s := newTransactional(t, env, func(c *kafkasink.TransactionalConfig) { c.PositionTopic = topic })
	_, err := s.Fence(within(t, patience), slot)
	require.NoError(t, err)
	require.NoError(t, s.SendWith(within(t, patience), slot, nil, []byte("1")))
}

// TestR12_PositionMissesNothing: what this process has stored itself cannot be none
// later, even where the topic is a new one of the same name.
func TestR12_PositionMissesNothing(t *testing.T) {
	t.Parallel()
	env := testenv.RealKafka(t)
	s := newTransactional(t, env, nil)
	_, err := s.Fence(within(t, patience), slotZero)
	require.NoError(t, err)
	require.NoError(t, s.SendWith(within(t, patience), slotZero, nil, []byte("1")))
	client, err := kgo.NewClient(kgo.SeedBrokers(env.Brokers...))
	require.NoError(t, err)
	defer client.Close()
	_, err = kadm.NewClient(client).DeleteTopic(t.Context(), env.Name("positions"))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err = s.Fence(within(t, patience), slotZero)
		return errors.Is(err, driver.ErrSourceUnusable)
	}, patience, 50*time.Millisecond, "%v", err)
}
