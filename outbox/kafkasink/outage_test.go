package kafkasink_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// short is a publish timeout that a test has to wait for.
const short = 300 * time.Millisecond

// A real broker is killed and started again: an outage within the context, then
// everything, in order.
func TestO8_BrokerKilledAndBack(t *testing.T) {
	t.Parallel()
	server := testenv.PrivateKafka(t)
	s := newSink(t, server.Brokers, kafkasink.Config{AllowAutoTopicCreation: true, TopicTimeout: patience})
	killedBetweenCalls(t, server, s)
	killedWhileSending(t, server, s)
}

func killedBetweenCalls(t *testing.T, server *testenv.KafkaServer, s *kafkasink.Sink) {
	t.Helper()
	sent := records("between", 9000, 23, 100)
	requireDelivered(t, s.Send(within(t, patience), sent[:3000]))

	server.Kill()
	results := s.Send(within(t, short), sent[3000:6000])
	require.Zero(t, kinds(results)[-1])
	require.Equal(t, outbox.FailureOutage, outbox.KindOf(results[0].Err))
	require.ErrorIs(t, results[0].Err, context.DeadlineExceeded)
	for ctx := within(t, patience); !strings.Contains(results[0].Err.Error(), "last connection error"); {
		require.NoError(t, ctx.Err(), "the error says what is wrong: %v", results[0].Err)
		results = s.Send(within(t, short), sent[3000:6000]) // a busy machine may not have come to connect
		require.Error(t, results[0].Err)
	}
	require.Zero(t, kinds(results)[outbox.FailurePermanent])

	server.Start()
	require.NoError(t, deliverAll(within(t, 2*patience), s, sent[3000:], 5*time.Second))
	log := read(t, server.Brokers, "between")
	require.GreaterOrEqual(t, len(log), len(sent))
	require.Empty(t, outOfOrder(t, sent, log))
}

func killedWhileSending(t *testing.T, server *testenv.KafkaServer, s *kafkasink.Sink) {
	t.Helper()
	sent := records("while", 60_000, 23, 200)
	ctx := within(t, 2*patience)
	started := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- func() error {
			for page := sent; len(page) > 0; page = page[2000:] {
				if err := deliverAll(ctx, s, page[:2000], 2*time.Second); err != nil {
					return err
				}
				if len(page) == 50_000 {
					close(started)
				}
			}
			return nil
		}()
	}()
	select {
	case <-started:
		server.Kill()
		server.Start()
	case <-ctx.Done():
	}
	require.NoError(t, <-done)
	log := read(t, server.Brokers, "while")
	require.GreaterOrEqual(t, len(log), len(sent))
	require.Empty(t, outOfOrder(t, sent, log))
}

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

	results = s.Send(within(t, short), sent[300:600]) // a new client, the topic to be looked up
	require.Equal(t, outbox.FailureOutage, outbox.KindOf(results[0].Err))
	require.ErrorIs(t, results[0].Err, syscall.ECONNREFUSED)

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

// The broker writes a batch, and its answer comes too late. The records fail,
// and are there twice after they were sent again: first occurrences in order.
func TestO5_AnswerTooLate(t *testing.T) {
	t.Parallel()
	c := cluster(t, "t", 1)
	late := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "t", Err: kerr.RequestTimedOut, Count: -1})
	s := newSink(t, c.ListenAddrs(), kafkasink.Config{})
	sent := records("t", 50, 5, 100)
	results := s.Send(within(t, short), sent)
	require.Equal(t, map[outbox.FailureKind]int{outbox.FailureOutage: 1, outbox.FailureNotSent: 49}, kinds(results))
	late.Remove()
	requireDelivered(t, s.Send(within(t, patience), sent))
	log := read(t, c.ListenAddrs(), "t")
	require.Greater(t, len(log), 50)
	require.Empty(t, outOfOrder(t, sent, log))
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

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want outbox.FailureKind
	}{
		{kerr.MessageTooLarge, outbox.FailurePermanent},
		{kerr.InvalidTimestamp, outbox.FailurePermanent},
		{kerr.SaslAuthenticationFailed, outbox.FailureOutage},
		{kgo.ErrClientClosed, outbox.FailureOutage},
		{context.DeadlineExceeded, outbox.FailureOutage},
		{&net.DNSError{}, outbox.FailureOutage},
		{kerr.OutOfOrderSequenceNumber, outbox.FailureUnknown},
		{kerr.UnknownServerError, outbox.FailureUnknown},
		{errors.New("other"), outbox.FailureUnknown},
	} {
		require.Equal(t, test.want, kafkasink.Classify(test.err), test.err)
	}
}
