package redissink_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/redissink"
)

// sentinel starts a Sentinel that watches the server at addr as primary.
func sentinel(t *testing.T, addr string) string {
	t.Helper()
	host, port := split(addr)
	own, err := testenv.OwnProgram(t.Context(), testenv.Program{
		Name: "sentinel",
		Plan: func(dir string, own int) (map[string]string, []string) {
			conf := fmt.Sprintf("bind 127.0.0.1\nport %d\nsentinel monitor primary %s %s 1\n"+
				"sentinel down-after-milliseconds primary 500\nsentinel failover-timeout primary 5000\n", own, host, port)
			return map[string]string{"sentinel.conf": conf}, []string{"redis-server", filepath.Join(dir, "sentinel.conf"), "--sentinel"}
		},
		Probe: func(ctx context.Context, address string) (string, error) {
			client := redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1})
			defer func() { _ = client.Close() }()
			return "sentinel", client.Ping(ctx).Err()
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, own.Close()) })
	return own.Address
}

// TestO8_Failover: the primary is killed, a replica takes over, and the sink goes on there.
//
//leat:level 4
func TestO8_Failover(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts three servers")
	primary, replica := testenv.PrivateRedis(t, nil), testenv.PrivateRedis(t, nil)
	second := connect(t, replica.Addr)
	host, port := split(primary.Addr)
	require.NoError(t, second.ReplicaOf(t.Context(), host, port).Err())
	ctx := within(t, patience)
	client := connect(t, primary.Addr)
	require.NoError(t, eventually(ctx, func() error {
		require.NoError(t, client.Set(ctx, "probe", "x", 0).Err())
		return second.Get(ctx, "probe").Err()
	}))
	watcher := sentinel(t, primary.Addr)
	asked := redis.NewSentinelClient(&redis.Options{Addr: watcher})
	defer func() { require.NoError(t, asked.Close()) }()
	require.NoError(t, eventually(ctx, func() error { // until it knows the replica
		found, err := asked.Replicas(ctx, "primary").Result()
		if err == nil && len(found) == 0 {
			err = redis.Nil
		}
		return err
	}))

	s := newSink(t, &redis.UniversalOptions{Addrs: []string{watcher}, MasterName: "primary"}, redissink.Config{Ack: redissink.AckMemory})
	all := records("t", 100, 5)
	require.Equal(t, map[string]int{"ok": 100}, kinds(s.Send(ctx, all)))
	primary.Kill()
	require.Equal(t, map[string]int{"outage": 5, "not_sent": 95}, kinds(s.Send(ctx, all)))
	require.NoError(t, eventually(ctx, func() error { return s.Send(ctx, all)[99].Err }))
	n, err := second.XLen(ctx, "t").Result()
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, int64(100), "on the replica that took over")
}
