package redissink_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/redissink"
	"github.com/leat-go/leat/outbox/sinktest"
)

var (
	_ sinktest.Muter   = (*streams)(nil)
	_ sinktest.Staller = (*streams)(nil)
	_ sinktest.Misser  = (*streams)(nil)
	_ sinktest.Limiter = (*streams)(nil)
	_ sinktest.Killer  = killable{}
)

// features: Redis refuses no single record of a stream.
func features() sinktest.Features { return sinktest.Features{NoRefusal: true} }

func TestSink_Conformance(t *testing.T) {
	t.Parallel()
	addr := keeping(t)
	for name, cfg := range map[string]redissink.Config{"created": {}, "existing": {ExistingOnly: true, Ack: redissink.AckMemory}} {
		var n atomic.Int32
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sinktest.Run(t, features(), func(t *testing.T) sinktest.Subject {
				return newStreams(t, addr, name+strconv.Itoa(int(n.Add(1))), cfg)
			})
		})
	}
}

// killable is a server of a test's own.
type killable struct {
	*streams

	server *testenv.RedisServer
}

func (k killable) Kill(context.Context) error {
	k.server.Kill()
	return nil
}

func (k killable) Revive(ctx context.Context) error {
	k.server.Start()
	return eventually(ctx, func() error { return k.client.XLen(ctx, k.Topics()[0]).Err() })
}

//leat:level 4
func TestSink_KilledServer(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts servers")
	sinktest.RunKill(t, features(), func(t *testing.T) sinktest.Killer {
		server := testenv.PrivateRedis(t, onDisk())
		return killable{newStreams(t, server.Addr, "k", redissink.Config{}), server}
	})
}

// TestO2_Replicas: what counts as delivered is on a replica.
//
//leat:level 4
func TestO2_Replicas(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts two servers")
	primary, replica := testenv.PrivateRedis(t, nil), testenv.PrivateRedis(t, nil)
	second := connect(t, replica.Addr)
	host, port := split(primary.Addr)
	require.NoError(t, second.ReplicaOf(t.Context(), host, port).Err())
	s := newSink(t, at(primary.Addr), redissink.Config{Ack: redissink.AckReplicas, Replicas: 1})
	all := records("t", 300, 5)
	require.NoError(t, eventually(within(t, patience), func() error {
		return s.Send(within(t, patience), all[:1])[0].Err // until the replica has loaded
	}))
	for page := range 3 {
		require.Equal(t, map[string]int{"ok": 100}, kinds(s.Send(within(t, patience), all[100*page:100*(page+1)])))
		n, err := second.XLen(t.Context(), "t").Result()
		require.NoError(t, err)
		require.GreaterOrEqual(t, n, int64(100*(page+1)), "acknowledged, and not on the replica")
	}
	replica.Kill()
	results := s.Send(within(t, patience/30), all)
	require.Equal(t, map[string]int{"outage": 5, "not_sent": 295}, kinds(results))
	require.ErrorContains(t, results[0].Err, "0 replicas have them, want 1")
	require.Equal(t, outbox.FailureOutage, outbox.KindOf(results[0].Err))

	// A replica takes no records: what a failover leaves behind is an outage.
	demoted := newSink(t, at(primary.Addr), redissink.Config{Ack: redissink.AckMemory})
	require.NoError(t, connect(t, primary.Addr).ReplicaOf(t.Context(), host, "1").Err())
	results = demoted.Send(within(t, patience), all[:10])
	require.Equal(t, map[string]int{"outage": 5, "not_sent": 5}, kinds(results))
	require.ErrorContains(t, results[0].Err, "READONLY")
	require.NotErrorIs(t, results[0].Err, outbox.ErrTopicUnavailable)
}
