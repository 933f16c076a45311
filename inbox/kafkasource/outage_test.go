package kafkasource_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
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
