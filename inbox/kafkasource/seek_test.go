package kafkasource_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// TestI8_SeekDecidesWhereToBegin: a store of offsets overrules the group's, once it
// can be asked.
func TestI8_SeekDecidesWhereToBegin(t *testing.T) {
	t.Parallel()
	env := testenv.RealKafka(t)
	topic := env.Topic(t, "seek", 2)
	c := client(t, env.Brokers)
	for i := range 20 {
		require.NoError(t, c.ProduceSync(t.Context(), record(topic, int32(i%2), strconv.Itoa(i), "")).FirstErr())
	}
	cfg := brisk()
	cfg.Concurrency = 1
	asked, calls := make(chan []driver.Assignment, 100), 0
	cfg.Seek = func(_ context.Context, assigned []driver.Assignment) ([]int64, error) {
		asked <- assigned
		switch calls++; calls {
		case 1:
			return nil, errors.New("the database is unavailable")
		case 2:
			return []int64{7}, nil // which of the two is not clear
		}
		next := []int64{0, 7}
		if assigned[0].Partition == 1 {
			next = []int64{7, 0}
		}
		return next, nil
	}
	msgs := subscribe(t, newSubscriber(t, env.Brokers, env.Name("group"), cfg), topic)
	first := map[int32]driver.Position{}
	for len(first) < 2 {
		msg := receive(t, msgs)
		p, ok := driver.PositionFrom(msg.Context())
		require.True(t, ok)
		if _, seen := first[p.Partition]; !seen {
			first[p.Partition] = p
		}
		msg.Ack()
	}
	parts := await(t, asked, "Seek is asked")
	require.Len(t, parts, 2)
	for _, p := range parts {
		require.Equal(t, [3]int64{0, 10, 0}, [3]int64{p.Start, p.End, p.From})
		require.Equal(t, topic, p.Topic)
		require.NotEmpty(t, p.Source)
	}
	await(t, asked, "Seek is asked again")
	await(t, asked, "Seek is asked a third time")
	require.Equal(t, []int64{0, -1}, []int64{first[0].Offset, first[0].Prev})
	require.Equal(t, []int64{7, 6}, []int64{first[1].Offset, first[1].Prev})
}

// TestStartNewest begins with what is written after the group has come; the group
// keeps its place although nothing was acked.
func TestStartNewest(t *testing.T) {
	t.Parallel()
	env := testenv.RealKafka(t)
	topic := env.Topic(t, "newest", 1)
	fill(t, env, topic, 5, 0)
	parts := newPartitions()
	cfg := brisk()
	log := testenv.NewLog()
	cfg.StartNewest, cfg.Hooks, cfg.Logger = true, []outbox.Hook{parts}, log.Logger()
	s := newSubscriber(t, env.Brokers, env.Name("group"), cfg)
	subscribe(t, s, topic)
	require.EqualValues(t, 5, parts.await(t, kafkasource.Assigned, 1).Offset)
	log.Await(t, "WARN", env.Name("group"), "begins at the newest message", "messages=5")
	require.NoError(t, s.Close())
	require.NoError(t, client(t, env.Brokers).ProduceSync(t.Context(), record(topic, 0, "5", "")).FirstErr())
	msg := receive(t, subscribe(t, newSubscriber(t, env.Brokers, env.Name("group"), cfg), topic))
	require.Equal(t, "5", msg.UUID)
	msg.Ack()
}

// Messages that retention has deleted before the group read them are reported.
func TestDeletedBeforeRead(t *testing.T) {
	t.Parallel()
	env := testenv.RealKafka(t)
	topic, group := env.Topic(t, "deleted", 1), env.Name("group")
	fill(t, env, topic, 10, 0)
	admin := kadm.NewClient(client(t, env.Brokers))
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: topic, At: 2, LeaderEpoch: -1})
	require.NoError(t, admin.CommitAllOffsets(t.Context(), group, offsets))
	upTo := kadm.Offsets{}
	upTo.Add(kadm.Offset{Topic: topic, At: 6, LeaderEpoch: -1})
	_, err := admin.DeleteRecords(t.Context(), upTo)
	require.NoError(t, err)
	parts := newPartitions()
	cfg := brisk()
	cfg.Concurrency, cfg.Hooks = 1, []outbox.Hook{parts}
	msg := receive(t, subscribe(t, newSubscriber(t, env.Brokers, group, cfg), topic))
	require.Equal(t, "6", msg.UUID)
	msg.Ack()
	p := parts.await(t, kafkasource.Assigned, 1)
	require.Equal(t, []int64{6, 4}, []int64{p.Offset, p.Deleted})
}

// TestTopicComesLater: a subscription to a topic that does not exist yet begins when
// it does.
func TestTopicComesLater(t *testing.T) {
	t.Parallel()
	env := testenv.RealKafka(t)
	msgs := subscribe(t, newSubscriber(t, env.Brokers, env.Name("group"), brisk()), env.Name("later"))
	await(t, time.After(time.Second), "a pause in which the topic is asked for")
	fill(t, env, env.Topic(t, "later", 1), 1, 0)
	receive(t, msgs).Ack()
}

// TestI8_TopicCreatedAgain: offsets of a topic that was deleted and created again are
// positions in another log.
func TestI8_TopicCreatedAgain(t *testing.T) {
	t.Parallel()
	env := testenv.RealKafka(t)
	topic := env.Topic(t, "again", 1)
	fill(t, env, topic, 3, 1)
	msgs := subscribe(t, newSubscriber(t, env.Brokers, env.Name("group"), brisk()), topic)
	var before driver.Position
	for range 3 {
		msg := receive(t, msgs)
		before, _ = driver.PositionFrom(msg.Context())
		msg.Ack()
	}
	_, err := kadm.NewClient(client(t, env.Brokers)).DeleteTopic(t.Context(), topic)
	require.NoError(t, err)
	require.Equal(t, topic, env.Topic(t, "again", 1))
	for client(t, env.Brokers).ProduceSync(t.Context(), record(topic, 0, "0", "")).FirstErr() != nil {
		// Brokers forget the topic's old id late.
		await(t, time.After(100*time.Millisecond), "a pause")
	}
	msg := receive(t, msgs)
	after, ok := driver.PositionFrom(msg.Context())
	require.True(t, ok)
	require.Equal(t, []int64{0, -1}, []int64{after.Offset, after.Prev})
	require.NotEqual(t, before.Source, after.Source)
	msg.Ack()
}

// TestBackPressure: a partition that nobody handles is paused, and read to its end
// when somebody does.
func TestBackPressure(t *testing.T) {
	t.Parallel()
	const total = 5000
	env := testenv.RealKafka(t)
	topic := env.Topic(t, "pressure", 1)
	fill(t, env, topic, total, 50)
	cfg := brisk()
	cfg.MaxBuffered, cfg.BatchSize, cfg.Concurrency = 10, 10, 4
	cfg.Options = []kgo.Opt{kgo.FetchMaxBytes(10_000), kgo.FetchMaxPartitionBytes(10_000)}
	s := newSubscriber(t, env.Brokers, env.Name("group"), cfg)
	msgs := subscribe(t, s, topic)
	for range total {
		receive(t, msgs).Ack()
	}
	require.NoError(t, s.Close())
	require.EqualValues(t, total, committed(t, env.Brokers, env.Name("group"), topic, 0))
}

// TestI8_OffsetOfAnotherTopic: an offset that was committed for a topic that is gone
// does not skip what the new one of its name begins with. One that other clients
// have committed counts.
func TestI8_OffsetOfAnotherTopic(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		metadata string
		begin    int64
	}{
		"of a topic that is gone": {"leat topic-id=" + uuid.NewString(), 0},
		"of another client":       {"", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := testenv.RealKafka(t)
			topic := env.Topic(t, "offset", 1)
			fill(t, env, topic, 5, 1)
			offsets := kadm.Offsets{}
			offsets.Add(kadm.Offset{Topic: topic, Partition: 0, At: 3, LeaderEpoch: -1, Metadata: c.metadata})
			_, err := kadm.NewClient(client(t, env.Brokers)).CommitOffsets(t.Context(), env.Name("group"), offsets)
			require.NoError(t, err)
			msg := receive(t, subscribe(t, newSubscriber(t, env.Brokers, env.Name("group"), brisk()), topic))
			at, ok := driver.PositionFrom(msg.Context())
			require.True(t, ok)
			require.Equal(t, c.begin, at.Offset)
			msg.Ack()
		})
	}
}
