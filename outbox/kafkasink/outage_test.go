package kafkasink_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// short is a publish timeout that a test has to wait for.
const short = 300 * time.Millisecond

// door is a dialer that can be shut: connections that it has made break, and
// new ones are refused or hang.
type door struct {
	shut, hang atomic.Bool
	conns      chan net.Conn
}

func newDoor() *door { return &door{conns: make(chan net.Conn, 1000)} }

func (d *door) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if d.hang.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if d.shut.Load() {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err == nil {
		d.conns <- conn
	}
	return conn, err
}

// cut breaks every connection.
func (d *door) cut() {
	for {
		select {
		case conn := <-d.conns:
			_ = conn.Close()
		default:
			return
		}
	}
}

func TestO8_NetworkRefusedThenBack(t *testing.T) {
	t.Parallel()
	c := cluster(t, "t", 3)
	d := newDoor()
	s := newSink(t, c.ListenAddrs(), kafkasink.Config{Options: []kgo.Opt{kgo.Dialer(d.dial)}})
	sent := records("t", 900, 11, 100)
	requireDelivered(t, s.Send(within(t, patience), sent[:300]))
	d.shut.Store(true)
	d.cut()
	results := s.Send(within(t, short), sent[300:600])
	require.Equal(t, outbox.FailureOutage, outbox.KindOf(results[0].Err))
	require.Zero(t, kinds(results)[-1]+kinds(results)[outbox.FailureUnknown]+kinds(results)[outbox.FailurePermanent])
	require.Nil(t, kafkasink.Client(s))
	require.ErrorContains(t, results[0].Err, fmt.Sprintf("kafka at %v does not answer", c.ListenAddrs()))

	results = s.Send(within(t, short), sent[300:600]) // a new client, the topic to be looked up
	require.Equal(t, outbox.FailureOutage, outbox.KindOf(results[0].Err))
	require.ErrorIs(t, results[0].Err, syscall.ECONNREFUSED)
	require.ErrorContains(t, results[0].Err, fmt.Sprintf("kafka at %v does not answer", c.ListenAddrs()))

	d.shut.Store(false)
	require.NoError(t, deliverAll(within(t, patience), s, sent[300:], patience))
	log := read(t, c.ListenAddrs(), "t")
	require.Len(t, log, 900)
	require.Empty(t, outOfOrder(t, sent, log))
}

// A network that swallows everything holds up neither Send nor Close.
func TestO13_HangingNetworkHoldsUpNothing(t *testing.T) {
	t.Parallel()
	c := cluster(t, "t", 1)
	d := newDoor()
	d.hang.Store(true)
	s := newSink(t, c.ListenAddrs(), kafkasink.Config{Options: []kgo.Opt{kgo.Dialer(d.dial)}})
	began := time.Now()
	results := s.Send(within(t, short), records("t", 10, 2, 10))
	require.Equal(t, outbox.FailureOutage, outbox.KindOf(results[0].Err))
	require.Error(t, s.Check(within(t, short)))
	require.NoError(t, s.Close())
	require.Less(t, time.Since(began), patience/3)
}

func TestO8_BrokerErrorsAreOutages(t *testing.T) {
	t.Parallel()
	for _, broker := range []*kerr.Error{kerr.NotEnoughReplicas, kerr.NotLeaderForPartition, kerr.KafkaStorageError, kerr.TopicAuthorizationFailed} {
		t.Run(broker.Message, func(t *testing.T) {
			t.Parallel()
			c := cluster(t, "t", 1)
			fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "t", Err: broker, Count: -1})
			s := newSink(t, c.ListenAddrs(), kafkasink.Config{})
			sent := records("t", 20, 3, 10)
			results := s.Send(within(t, short), sent)
			require.Equal(t, map[outbox.FailureKind]int{outbox.FailureOutage: 1, outbox.FailureNotSent: 19}, kinds(results))
			fault.Remove()
			requireDelivered(t, s.Send(within(t, patience), sent))
			// A request that was on its way when its client was closed may be a repeat.
			log := read(t, c.ListenAddrs(), "t")
			require.GreaterOrEqual(t, len(log), 20)
			require.Empty(t, outOfOrder(t, sent, log))
		})
	}
}

// TestO8_ForgottenProducerID: brokers forget producer ids that were idle for long, or if there are too
// many. That says nothing of the records: the next call has another id, and sends them in order.
func TestO8_ForgottenProducerID(t *testing.T) {
	t.Parallel()
	for _, forgotten := range []*kerr.Error{kerr.OutOfOrderSequenceNumber, kerr.UnknownProducerID, kerr.InvalidProducerIDMapping, kerr.InvalidProducerEpoch} {
		t.Run(forgotten.Message, func(t *testing.T) {
			t.Parallel()
			c := cluster(t, "t", 3)
			s := newSink(t, c.ListenAddrs(), kafkasink.Config{})
			sent := records("t", 600, 11, 100)
			requireDelivered(t, s.Send(within(t, patience), sent[:300]))
			ids := map[int64]bool{}
			c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "t", Err: forgotten})
			results := s.Send(within(t, patience), sent[300:])
			counts := kinds(results)
			require.Positive(t, counts[outbox.FailureOutage])
			require.Zero(t, counts[outbox.FailureUnknown]+counts[outbox.FailurePermanent], "%v", counts)
			require.Nil(t, kafkasink.Client(s))
			require.NoError(t, deliverAll(within(t, patience), s, sent[300:], patience))
			log := read(t, c.ListenAddrs(), "t")
			require.Empty(t, outOfOrder(t, sent, log))
			seen := map[int64]bool{}
			for _, r := range log {
				seen[seqOf(t, r)], ids[r.ProducerID] = true, true
			}
			require.Len(t, seen, 600)
			require.Len(t, ids, 2, "another producer id")
		})
	}
}

// silence is a dialer of brokers that accept connections and, while they are silent, answer nothing.
type silence struct {
	valve faultnet.Valve
	on    atomic.Bool
}

func (s *silence) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := s.valve.Dial(ctx, network, addr)
	if s.on.Load() {
		s.valve.Mute() // and never released
	}
	return conn, err
}

// TestO7_BrokerThatAnswersNothing: an idempotent client waits for the answer to what it has produced,
// whatever its context says (franz-go #520). A call ends all the same, as often as it is tried, and
// what was lost in the silence is sent once the brokers answer.
func TestO7_BrokerThatAnswersNothing(t *testing.T) {
	t.Parallel()
	brokers(t, func(t *testing.T, env *testenv.KafkaEnv) {
		topic := env.Topic(t, "silent", 3)
		silent := new(silence)
		s := newSink(t, env.Brokers, kafkasink.Config{Options: []kgo.Opt{kgo.Dialer(silent.dial)}})
		sent := records(topic, 90, 7, 100)
		requireDelivered(t, s.Send(within(t, patience), sent[:30]))
		silent.on.Store(true)
		silent.valve.Mute()
		for range 3 {
			ctx, ended := within(t, short), make(chan []outbox.Result, 1)
			go func() { ended <- s.Send(ctx, sent[30:60]) }()
			select {
			case results := <-ended:
				require.Equal(t, outbox.FailureOutage, outbox.KindOf(results[0].Err), results[0].Err)
				require.Zero(t, kinds(results)[-1]+kinds(results)[outbox.FailureUnknown]+kinds(results)[outbox.FailurePermanent])
			case <-within(t, patience).Done():
				require.FailNow(t, "Send does not end with its context")
			}
		}
		silent.on.Store(false)
		require.NoError(t, deliverAll(within(t, patience), s, sent[30:], patience))
		seen := map[int64]bool{}
		log := read(t, env.Brokers, topic)
		for _, r := range log {
			seen[seqOf(t, r)] = true
		}
		require.Len(t, seen, 90)
		require.Empty(t, outOfOrder(t, sent, log))
	})
}

// A topic is deleted under a sink that knows it: its records wait, the others
// are not held up for longer than one timeout.
func TestO7_TopicDeleted(t *testing.T) {
	t.Parallel()
	c := cluster(t, "t", 1)
	require.NoError(t, c.CreateTopic("gone", 1, nil))
	s := newSink(t, c.ListenAddrs(), kafkasink.Config{TopicTimeout: 50 * time.Millisecond})
	sent := []outbox.Record{record("gone", "a", 1, 10), record("t", "a", 2, 10)}
	requireDelivered(t, s.Send(within(t, patience), sent))
	require.NoError(t, c.DeleteTopic("gone"))
	results := s.Send(within(t, short), sent)
	require.Equal(t, outbox.FailureOutage, outbox.KindOf(results[0].Err))
	require.NoError(t, results[1].Err)
	results = s.Send(within(t, patience), sent)
	require.Equal(t, outbox.FailureOutage, outbox.KindOf(results[0].Err))
	require.NoError(t, results[1].Err)
}

//leat:level 0
func TestClassify(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want outbox.FailureKind
	}{
		{kerr.MessageTooLarge, outbox.FailurePermanent},
		{kerr.InvalidTimestamp, outbox.FailureOutage},
		{kerr.SaslAuthenticationFailed, outbox.FailureOutage},
		{kgo.ErrClientClosed, outbox.FailureOutage},
		{context.DeadlineExceeded, outbox.FailureOutage},
		{&net.DNSError{}, outbox.FailureOutage},
		{kerr.OutOfOrderSequenceNumber, outbox.FailureOutage},
		{kerr.UnknownServerError, outbox.FailureUnknown},
		{errors.New("other"), outbox.FailureUnknown},
	} {
		require.Equal(t, test.want, kafkasink.Classify(test.err), test.err)
	}
}
