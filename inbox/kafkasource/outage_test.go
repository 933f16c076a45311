package kafkasource_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/leat-go/leat/inbox/kafkasource"
)

// mute is a cluster that can drop the connection of every request of a kind: no client
// can know whether it was carried out. Its topic is "t".
type mute struct {
	*kfake.Cluster
	on    atomic.Bool
	asked chan struct{} // something when a request was dropped
}

func muted(t *testing.T, kind kmsg.Key) *mute {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	m := &mute{Cluster: cluster, asked: make(chan struct{}, 1)}
	m.on.Store(true)
	cluster.ControlKey(int16(kind), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		if !m.on.Load() {
			return nil, nil, false
		}
		select {
		case m.asked <- struct{}{}:
		default:
		}
		return nil, errors.New("no answer"), true
	})
	return m
}

// A7: TestPublish_ReturnsWithoutAnAnswer within PublishTimeout, although the message was
// under way as its broker died. The client alone would wait for ever.
//
//leat:level 0
func TestPublish_ReturnsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	cluster := muted(t, kmsg.Produce)
	pub, err := kafkasource.NewPublisher(cluster.ListenAddrs(), kafkasource.PublisherConfig{PublishTimeout: time.Second})
	require.NoError(t, err)
	returned := make(chan error, 1)
	go func() { returned <- pub.Publish("t", message.NewMessage(uuid.NewString(), []byte("x"))) }()
	require.ErrorIs(t, await(t, returned, "Publish returns"), context.DeadlineExceeded)
	require.NoError(t, pub.Close())
}

// A7: TestPublish_GivesUpForGood: what Publish has returned an error for in time is not
// written by the client when the brokers are back.
//
//leat:level 0
func TestPublish_GivesUpForGood(t *testing.T) {
	t.Parallel()
	cluster := muted(t, kmsg.Produce)
	pub, err := kafkasource.NewPublisher(cluster.ListenAddrs(), kafkasource.PublisherConfig{PublishTimeout: 6 * time.Second})
	require.NoError(t, err)
	require.ErrorIs(t, pub.Publish("t", message.NewMessage(uuid.NewString(), []byte("lost"))), kgo.ErrRecordTimeout)
	cluster.on.Store(false)
	require.NoError(t, pub.Publish("t", message.NewMessage(uuid.NewString(), []byte("written"))))
	require.NoError(t, pub.Close())
	ends, err := kadm.NewClient(client(t, cluster.ListenAddrs())).ListEndOffsets(t.Context(), "t")
	require.NoError(t, err)
	end, _ := ends.Lookup("t", 0)
	require.EqualValues(t, 1, end.Offset)
}

// A7: TestPublish_EndsWithItsContextAlone: a message whose context ends while it is under
// way is not waited for, and fails no other of its partition.
//
//leat:level 0
func TestPublish_EndsWithItsContextAlone(t *testing.T) {
	t.Parallel()
	cluster := muted(t, kmsg.Produce)
	buffered := make(buffering, 2)
	pub, err := kafkasource.NewPublisher(cluster.ListenAddrs(), kafkasource.PublisherConfig{
		Options: []kgo.Opt{kgo.WithHooks(buffered)},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	publish := func(ctx context.Context) <-chan error {
		returned := make(chan error, 1)
		msg := message.NewMessage(uuid.NewString(), []byte("x"))
		msg.SetContext(ctx)
		go func() { returned <- pub.Publish("t", msg) }()
		return returned
	}
	first := publish(ctx)
	await(t, buffered, "the client has the message")
	await(t, cluster.asked, "the message is under way")
	second := publish(t.Context())
	await(t, buffered, "the client has the other message")
	cancel()
	require.ErrorIs(t, await(t, first, "Publish returns"), context.Canceled)
	cluster.on.Store(false)
	require.NoError(t, await(t, second, "the other message is written"))
	require.NoError(t, pub.Close())
}

// buffering is a hook that tells when the client has a record.
type buffering chan struct{}

// OnProduceRecordBuffered implements kgo.HookProduceRecordBuffered.
func (b buffering) OnProduceRecordBuffered(*kgo.Record) { b <- struct{}{} }

// pauses is a logger that notes how long a client's attempts to join its group lie apart.
type pauses chan time.Duration

// Level implements kgo.Logger.
func (pauses) Level() kgo.LogLevel { return kgo.LogLevelError }

// Log implements kgo.Logger.
func (p pauses) Log(_ kgo.LogLevel, msg string, keyvals ...any) {
	if msg != "group manage loop errored" {
		return
	}
	for i := 0; i+1 < len(keyvals); i += 2 {
		if pause, ok := keyvals[i+1].(time.Duration); ok && keyvals[i] == "backoff" {
			select {
			case p <- pause:
			default:
			}
		}
	}
}

// A7: TestSubscribe_ComesBackSoon: however long an outage takes, a member tries again
// within one and a quarter second.
//
//leat:level 0
func TestSubscribe_ComesBackSoon(t *testing.T) {
	t.Parallel()
	seen := make(pauses, 100)
	cfg := brisk()
	cfg.Options = []kgo.Opt{kgo.WithLogger(seen), kgo.RequestRetries(0)}
	subscribe(t, newSubscriber(t, muted(t, kmsg.JoinGroup).ListenAddrs(), "group", cfg), "t")
	for range 4 {
		require.LessOrEqual(t, await(t, (chan time.Duration)(seen), "an attempt"), 1250*time.Millisecond)
	}
}
