package kafkasink_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

func TestO5_KeyOrderOverManyPages(t *testing.T) {
	t.Parallel()
	brokers(t, func(t *testing.T, env *testenv.KafkaEnv) {
		topic := env.Topic(t, "ordered", 5)
		s := newSink(t, env.Brokers, kafkasink.Config{})
		sent := records(topic, 20_000, 37, 100)
		for page := sent; len(page) > 0; page = page[min(len(page), 3001):] {
			requireDelivered(t, s.Send(within(t, patience), page[:min(len(page), 3001)]))
		}
		log := read(t, env.Brokers, topic)
		require.Len(t, log, len(sent), "a run without faults delivers once")
		require.Empty(t, outOfOrder(t, sent, log))
	})
}

// The first call of a client takes another way than all later ones.
//
//leat:level 0
func TestSend_FirstCallOfManyClients(t *testing.T) {
	t.Parallel()
	c := cluster(t, "t", 2)
	for range 100 {
		s, err := kafkasink.New(c.ListenAddrs(), kafkasink.Config{})
		require.NoError(t, err)
		requireDelivered(t, s.Send(within(t, patience), records("t", 2, 2, 10)))
		require.NoError(t, s.Close())
	}
	require.Len(t, read(t, c.ListenAddrs(), "t"), 200)
}

func TestSend_ManyTopicsInOneCall(t *testing.T) {
	t.Parallel()
	brokers(t, func(t *testing.T, env *testenv.KafkaEnv) {
		var topics []string
		for i := range 5 {
			topics = append(topics, env.Topic(t, fmt.Sprintf("many-%d", i), 2))
		}
		s := newSink(t, env.Brokers, kafkasink.Config{})
		var sent []outbox.Record
		for i := range 1000 {
			sent = append(sent, record(topics[i%5], fmt.Sprintf("key-%d", i%7), int64(i+1), 50))
		}
		requireDelivered(t, s.Send(within(t, patience), sent))
		for _, topic := range topics {
			require.Len(t, read(t, env.Brokers, topic), 200)
		}
	})
}

// A record in the middle is larger than its topic takes. It alone fails, and
// what follows it under its key waits.
func TestO7_OversizeRecordHoldsBackItsKeyOnly(t *testing.T) {
	t.Parallel()
	brokers(t, func(t *testing.T, env *testenv.KafkaEnv) {
		topic := env.Topic(t, "oversize", 2)
		limit(t, env.Brokers, topic, 20_000)
		s := newSink(t, env.Brokers, kafkasink.Config{})
		sent := records(topic, 200, 10, 1000)
		sent[53] = record(topic, "key-3", 54, 20_001)

		results := s.Send(within(t, patience), sent)
		require.Equal(t, outbox.FailurePermanent, outbox.KindOf(results[53].Err))
		require.ErrorContains(t, results[53].Err, "id-54")
		require.ErrorContains(t, results[53].Err, "takes 20000")
		for i, r := range results {
			switch {
			case i == 53:
			case sent[i].Key == "key-3" && i > 53:
				require.Equal(t, outbox.FailureNotSent, outbox.KindOf(r.Err))
			default:
				require.NoError(t, r.Err, "record %d", i)
			}
		}
		log := read(t, env.Brokers, topic)
		require.Len(t, log, 200-15)
		require.Empty(t, outOfOrder(t, sent, log))
	})
}

func TestSend_OversizeWithoutKeyFailsAlone(t *testing.T) {
	t.Parallel()
	env := testenv.Kafka(t)
	topic := env.Topic(t, "unordered", 1)
	limit(t, env.Brokers, topic, 2000)
	s := newSink(t, env.Brokers, kafkasink.Config{})
	sent := []outbox.Record{record(topic, "", 1, 10), record(topic, "", 2, 3000), record(topic, "", 3, 3000), record(topic, "", 4, 10)}
	results := s.Send(within(t, patience), sent)
	require.Equal(t, map[outbox.FailureKind]int{-1: 2, outbox.FailurePermanent: 2}, kinds(results))
}

func TestSend_IllegalTopicFailsForGood(t *testing.T) {
	t.Parallel()
	env := testenv.Fake(t)
	topic := env.Topic(t, "legal", 1)
	s := newSink(t, env.Brokers, kafkasink.Config{})
	sent := []outbox.Record{
		record("no spaces", "a", 1, 10), record(topic, "a", 2, 10), record("no spaces", "a", 3, 10), record("..", "", 4, 10),
	}
	results := s.Send(within(t, patience), sent)
	require.Equal(t, outbox.FailurePermanent, outbox.KindOf(results[0].Err))
	require.NoError(t, results[1].Err)
	require.Equal(t, outbox.FailureNotSent, outbox.KindOf(results[2].Err))
	require.Equal(t, outbox.FailurePermanent, outbox.KindOf(results[3].Err))
}

//leat:level 0
func TestLegal(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"a": true, "A.b_c-9": true, strings.Repeat("x", 249): true,
		"": false, ".": false, "..": false, "a b": false, "ü": false, strings.Repeat("x", 250): false, "a/b": false,
	} {
		require.Equal(t, want, kafkasink.Legal(name), name)
	}
}

// A missing topic is an outage of that topic. The others of the call are
// delivered, and it is used as soon as it exists.
func TestO7_MissingTopicDelaysOthersByTopicTimeoutOnce(t *testing.T) {
	t.Parallel()
	c := cluster(t, "there", 1)
	s := newSink(t, c.ListenAddrs(), kafkasink.Config{TopicTimeout: 100 * time.Millisecond})
	sent := []outbox.Record{record("absent", "a", 1, 10), record("there", "a", 2, 10), record("absent", "a", 3, 10), record("there", "a", 4, 10)}
	for range 3 {
		results := s.Send(within(t, patience), sent)
		require.Equal(t, outbox.FailureOutage, outbox.KindOf(results[0].Err))
		require.ErrorContains(t, results[0].Err, `"absent"`)
		require.NoError(t, results[1].Err)
		require.Equal(t, outbox.FailureNotSent, outbox.KindOf(results[2].Err))
		require.NoError(t, results[3].Err)
	}
	require.NoError(t, c.CreateTopic("absent", 1, nil))
	requireDelivered(t, s.Send(within(t, patience), sent))
	require.Len(t, read(t, c.ListenAddrs(), "absent"), 2)
}

// A topic that appears while a call waits for it is used by that call.
func TestSend_WaitsForANewTopic(t *testing.T) {
	t.Parallel()
	c := cluster(t, "other", 1)
	s := newSink(t, c.ListenAddrs(), kafkasink.Config{TopicTimeout: patience})
	done := make(chan []outbox.Result, 1)
	ctx := within(t, patience)
	go func() { done <- s.Send(ctx, []outbox.Record{record("late", "a", 1, 10)}) }()
	require.NoError(t, c.CreateTopic("late", 1, nil))
	requireDelivered(t, <-done)
}

func TestSend_CreatesTopicsWhereAllowed(t *testing.T) {
	t.Parallel()
	brokers(t, func(t *testing.T, env *testenv.KafkaEnv) {
		topic := env.Name("made")
		s := newSink(t, env.Brokers, kafkasink.Config{TopicTimeout: 50 * time.Millisecond})
		sent := records(topic, 10, 2, 10)
		require.Equal(t, outbox.FailureOutage, outbox.KindOf(s.Send(within(t, patience), sent)[0].Err))

		allowed := newSink(t, env.Brokers, kafkasink.Config{AllowAutoTopicCreation: true, TopicTimeout: patience})
		requireDelivered(t, allowed.Send(within(t, patience), sent))
		require.Len(t, read(t, env.Brokers, topic), 10)
	})
}

func TestClose_EndsTheSink(t *testing.T) {
	t.Parallel()
	env := testenv.Fake(t)
	s := newSink(t, env.Brokers, kafkasink.Config{})
	require.NoError(t, s.Check(within(t, patience)))
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Check(t.Context()), outbox.ErrClosed)
	require.ErrorIs(t, s.Send(within(t, patience), records("t", 2, 1, 10))[0].Err, outbox.ErrClosed)
}
