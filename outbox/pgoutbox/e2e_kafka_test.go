package pgoutbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// stage is an outbox in a database of its own and two topics on a real broker.
type stage struct {
	t      *testing.T
	ob     *pgoutbox.Outbox
	db     *testenv.Database
	kafka  *testenv.KafkaEnv
	topics []string
	ledger *ledger
}

func newStage(t *testing.T) *stage {
	t.Helper()
	kafka := testenv.RealKafka(t)
	ob, db := newOutbox(t, pgoutbox.Config{})
	return &stage{
		t: t, ob: ob, db: db, kafka: kafka, ledger: newLedger(),
		topics: []string{kafka.Topic(t, "orders", 3), kafka.Topic(t, "mail", 1)},
	}
}

func (s *stage) sink() *kafkasink.Sink {
	s.t.Helper()
	sink, err := kafkasink.New(s.kafka.Brokers, kafkasink.Config{})
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = sink.Close() }) // it always returns nil
	return sink
}

// commit enqueues messages in a transaction of their own and commits it.
func (s *stage) commit(msgs ...outbox.Message) {
	s.t.Helper()
	require.NoError(s.t, s.ob.InTx(s.t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		return s.ob.Enqueue(ctx, tx, msgs...)
	}))
	s.ledger.note(true, msgs...)
}

// message returns a message of the first topic with the given key and id.
func (s *stage) message(key, id string) outbox.Message {
	return outbox.Message{ID: id, Topic: s.topics[0], Key: key, Payload: []byte("payload of " + id), OccurredAt: recently()}
}

// recently returns a time that Kafka keeps unchanged. It must not be long ago: the retention of a topic
// goes by the records' times.
func recently() time.Time {
	return time.Now().UTC().Truncate(time.Millisecond)
}

// relayOnce runs a relay of src once and returns how many records it relayed.
func (s *stage) relayOnce(src driver.Source, sink driver.Sink, cfg relay.Config) int {
	s.t.Helper()
	r, err := relay.New(src, sink, cfg)
	require.NoError(s.t, err)
	n, err := r.RunOnce(s.t.Context())
	require.NoError(s.t, err)
	return n
}

// start runs a relay in the background.
func (s *stage) start(src driver.Source, sink driver.Sink, cfg relay.Config) *running {
	s.t.Helper()
	r, err := relay.New(src, sink, cfg)
	require.NoError(s.t, err)
	return runRelay(s.t, r)
}

// awaitAll reads the topics until everything committed is there, or until it times out, and returns the
// log.
func (s *stage) awaitAll() []delivered {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	return s.consume(ctx, func(log []delivered) bool {
		seen := map[string]struct{}{}
		for i := range log {
			seen[log[i].ID] = struct{}{}
		}
		return len(seen) >= s.ledger.size()
	})
}

// log returns the current log of the topics.
func (s *stage) log() []delivered {
	s.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Brokers...))
	require.NoError(s.t, err)
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(s.t.Context(), s.topics...)
	require.NoError(s.t, err)
	var total int64
	ends.Each(func(o kadm.ListedOffset) { total += o.Offset })
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	return s.consume(ctx, func(log []delivered) bool { return int64(len(log)) >= total })
}

// consume reads the topics from the start until enough reports true or ctx ends.
func (s *stage) consume(ctx context.Context, enough func(log []delivered) bool) []delivered {
	s.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Brokers...), kgo.ConsumeTopics(s.topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(50*time.Millisecond))
	require.NoError(s.t, err)
	defer client.Close()
	var log []delivered
	for !enough(log) && ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		fetches.EachRecord(func(r *kgo.Record) { log = append(log, fromKafka(r)) })
	}
	return log
}

// fromKafka converts a record as its consumers do.
func fromKafka(r *kgo.Record) delivered {
	d := delivered{partition: r.Partition, offset: r.Offset}
	d.Topic, d.Key, d.Payload, d.OccurredAt = r.Topic, string(r.Key), r.Value, r.Timestamp.UTC()
	for _, h := range r.Headers {
		switch h.Key {
		case outbox.HeaderEventID:
			d.ID = string(h.Value)
		case outbox.HeaderEventType:
			d.Type = string(h.Value)
		case outbox.HeaderEventTime, outbox.HeaderWatermillUUID:
		default:
			if d.Headers == nil {
				d.Headers = map[string]string{}
			}
			d.Headers[h.Key] = string(h.Value)
		}
	}
	return d
}

// audit checks the log of the topics.
func (s *stage) audit(log []delivered) report {
	s.t.Helper()
	return audit(s.ledger, log, s.seqs())
}

// seqs returns the numbers of the stored rows, by message id.
func (s *stage) seqs() map[string]int64 {
	s.t.Helper()
	rows, err := s.db.Pool.Query(s.t.Context(), "SELECT coalesce(id_text, id::text), seq FROM leat.outbox")
	require.NoError(s.t, err)
	seqs := map[string]int64{}
	var id string
	var seq int64
	_, err = pgx.ForEachRow(rows, []any{&id, &seq}, func() error {
		seqs[id] = seq
		return nil
	})
	require.NoError(s.t, err)
	return seqs
}
