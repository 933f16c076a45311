package kafkasink_test

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/sinktest"
)

// kafkaSubject is a sink on a cluster, whose connections go through a valve.
type kafkaSubject struct {
	brokers []string
	cfg     kafkasink.Config
	valve   *faultnet.Valve
}

func newKafkaSubject(brokers []string, cfg kafkasink.Config) kafkaSubject {
	s := kafkaSubject{brokers: brokers, cfg: cfg, valve: new(faultnet.Valve)}
	s.cfg.Options = []kgo.Opt{kgo.Dialer(s.valve.Dial)}
	return s
}

func (s kafkaSubject) Sink() (driver.Sink, error) { return kafkasink.New(s.brokers, s.cfg) }
func (kafkaSubject) Topics() [2]string            { return [2]string{"a", "b"} }
func (kafkaSubject) TooLarge() int                { return 2 << 20 }

func (s kafkaSubject) Mute(context.Context) (func(context.Context) error, error) {
	return releaser(s.valve.Mute()), nil
}

func (s kafkaSubject) Stall(context.Context) (func(context.Context) error, error) {
	return releaser(s.valve.Stall()), nil
}

func releaser(release func()) func(context.Context) error {
	return func(context.Context) error {
		release()
		return nil
	}
}

// Arrived implements sinktest.Subject.
func (s kafkaSubject) Arrived(ctx context.Context, topic string) ([]outbox.Message, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(s.brokers...), kgo.ConsumeTopics(topic),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(100*time.Millisecond))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	want := int64(0)
	ends.Each(func(o kadm.ListedOffset) { want += max(0, o.Offset) }) // less if there is no such topic
	var all []*kgo.Record
	for int64(len(all)) < want {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		all = append(all, fetches.Records()...)
	}
	slices.SortFunc(all, func(a, b *kgo.Record) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	out := make([]outbox.Message, len(all))
	for i, r := range all {
		if out[i], err = messageOf(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// messageOf returns r as the message that was sent.
func messageOf(r *kgo.Record) (outbox.Message, error) {
	m := outbox.Message{Topic: r.Topic, Key: string(r.Key), Payload: r.Value, Headers: make(map[string]string)}
	var err error
	for _, h := range r.Headers {
		switch h.Key {
		case outbox.HeaderEventID:
			m.ID = string(h.Value)
		case outbox.HeaderEventType:
			m.Type = string(h.Value)
		case outbox.HeaderEventTime:
			m.OccurredAt, err = time.Parse(time.RFC3339Nano, string(h.Value))
		case outbox.HeaderWatermillUUID:
		default:
			m.Headers[h.Key] = string(h.Value)
		}
	}
	return m, err
}

// fakeSubject is one on a cluster in this process, which refuses and lacks what it is told to.
type fakeSubject struct {
	kafkaSubject

	cluster *kfake.Cluster
}

var (
	_ sinktest.Refuser = fakeSubject{}
	_ sinktest.Muter   = fakeSubject{}
	_ sinktest.Staller = fakeSubject{}
	_ sinktest.Misser  = fakeSubject{}
	_ sinktest.Limiter = fakeSubject{}
	_ sinktest.Killer  = killable{}
)

func (fakeSubject) Missing() string { return "missing" }

func (s fakeSubject) Provide(context.Context) error {
	return s.cluster.CreateTopic(s.Missing(), 1, nil)
}

// Refuse makes the cluster reject every request that has the record with this id in it.
func (s fakeSubject) Refuse(_ context.Context, topic, id string) (func(context.Context) error, error) {
	header := append([]byte(outbox.HeaderEventID), byte(2*len(id))) // its length, as a varint
	header = append(header, id...)
	fault := s.cluster.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Produce}, Topic: topic, Err: kerr.InvalidRecord, Count: -1,
		When: func(r kmsg.Request) bool {
			for _, t := range r.(*kmsg.ProduceRequest).Topics {
				for _, p := range t.Partitions {
					if bytes.Contains(p.Records, header) {
						return true
					}
				}
			}
			return false
		},
	})
	return func(context.Context) error {
		fault.Remove()
		return nil
	}, nil
}

// TestSink_Conformance has no Transactional: that one delivers a slot in total order, all of a
// call or nothing, and only with a position (SendWith), so that a refused record holds back
// all keys behind it, where the suite wants only its own held back. outboxtest checks it with
// its relay, and exactly_once_test.go kills what is around it.
func TestSink_Conformance(t *testing.T) {
	t.Parallel()
	sinktest.Run(t, sinktest.Features{}, func(t *testing.T) sinktest.Subject {
		c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, "a", "b"))
		require.NoError(t, err)
		t.Cleanup(c.Close)
		return fakeSubject{newKafkaSubject(c.ListenAddrs(), kafkasink.Config{TopicTimeout: 50 * time.Millisecond}), c}
	})
}

// killable is one on a real broker of the test's own.
type killable struct {
	kafkaSubject

	server *testenv.KafkaServer
}

func (k killable) Kill(context.Context) error {
	k.server.Kill()
	return nil
}

func (k killable) Revive(ctx context.Context) error {
	k.server.Start()
	for {
		_, err := k.Arrived(ctx, k.Topics()[0])
		if err == nil {
			_, err = k.Arrived(ctx, k.Topics()[1])
		}
		if err == nil || wait.For(ctx, 100*time.Millisecond) != nil {
			return err
		}
	}
}

//leat:level 4
func TestSink_KilledBroker(t *testing.T) {
	t.Parallel()
	sinktest.RunKill(t, sinktest.Features{}, func(t *testing.T) sinktest.Killer {
		server := testenv.PrivateKafka(t)
		return killable{newKafkaSubject(server.Brokers, kafkasink.Config{AllowAutoTopicCreation: true, TopicTimeout: patience}), server}
	})
}
