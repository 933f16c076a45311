package redisdedupe_test

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/dedupetest"
	"github.com/leat-go/leat/dedupe/redisdedupe"
	"github.com/leat-go/leat/internal/testenv"
)

// slots is the number of hash slots of a cluster.
const slots = 16384

// freePort returns a port that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port
}

// TestStore_ConformanceOnCluster runs the suite on a cluster of one node, which
// refuses what touches keys of two slots.
//
//leat:level 2
func TestStore_ConformanceOnCluster(t *testing.T) {
	t.Parallel()
	server := testenv.PrivateRedis(t, map[string]string{
		"cluster-enabled": "yes", "cluster-port": freePort(t), "cluster-announce-ip": "127.0.0.1",
	})
	node := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = node.Close() })
	require.NoError(t, node.ClusterAddSlotsRange(t.Context(), 0, slots-1).Err())
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{server.Addr}})
	t.Cleanup(func() { _ = client.Close() })
	for { // the node takes a moment to find its cluster whole
		info, err := node.ClusterInfo(t.Context()).Result()
		require.NoError(t, err)
		if len(info) > 16 && info[:16] == "cluster_state:ok" {
			break
		}
	}
	s, err := redisdedupe.New(client, redisdedupe.Config{})
	require.NoError(t, err)
	require.NoError(t, s.Check(t.Context()))
	var subjects atomic.Int64
	t.Run("suite", func(t *testing.T) {
		dedupetest.Run(t, func(t *testing.T) dedupetest.Subject {
			t.Helper()
			prefix := fmt.Sprint("p", subjects.Add(1), ":")
			s, err := redisdedupe.New(client, redisdedupe.Config{Prefix: prefix})
			require.NoError(t, err)
			return clusterSubject{s, client, prefix}
		})
	})
	used := map[int64]bool{}
	for i := range 50 {
		c, err := s.Claim(t.Context(), dedupe.Key{Consumer: "c", ID: strconv.Itoa(i)}, dedupe.Request{Token: "t", Lease: 1e9})
		require.NoError(t, err)
		require.Equal(t, dedupe.Claimed, c.Status)
		slot, err := node.ClusterKeySlot(t.Context(), "leat:dedupe:1:c:"+strconv.Itoa(i)).Result()
		require.NoError(t, err)
		used[slot] = true
	}
	require.Greater(t, len(used), 40, "a consumer's messages spread over the cluster")
}

type clusterSubject struct {
	*redisdedupe.Store

	client redis.UniversalClient
	prefix string
}

func (s clusterSubject) Lose(ctx context.Context, key dedupe.Key) error {
	return s.client.Del(ctx, s.prefix+strconv.Itoa(len(key.Consumer))+":"+key.Consumer+":"+key.ID).Err()
}

// names records the commands that a client sends.
type names struct {
	mu  sync.Mutex
	all map[string]bool
}

func (*names) DialHook(next redis.DialHook) redis.DialHook { return next }

func (n *names) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		n.note(cmd)
		return next(ctx, cmd)
	}
}

func (n *names) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		n.note(cmds...)
		return next(ctx, cmds)
	}
}

func (n *names) note(cmds ...redis.Cmder) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, cmd := range cmds {
		n.all[cmd.Name()] = true
	}
}

// TestR13_EveryStepWrites: cluster clients with ReadOnly, RouteByLatency or RouteRandomly send to
// replicas what only reads. No step of a record does.
func TestR13_EveryStepWrites(t *testing.T) {
	t.Parallel()
	env := testenv.Redis(t)
	client := redis.NewClient(&redis.Options{Addr: env.Addr, DisableIdentity: true})
	defer func() { require.NoError(t, client.Close()) }()
	sent := &names{all: map[string]bool{}}
	client.AddHook(sent)
	s, err := redisdedupe.New(client, redisdedupe.Config{Prefix: env.Prefix})
	require.NoError(t, err)
	for i, end := range []func(dedupe.Key) error{
		func(k dedupe.Key) error { _, err := s.Complete(t.Context(), k, "one", []byte("result")); return err },
		func(k dedupe.Key) error { return s.Release(t.Context(), k, "one") },
	} {
		k := dedupe.Key{Consumer: "c", ID: strconv.Itoa(i)}
		for _, token := range []string{"one", "two"} {
			_, err = s.Claim(t.Context(), k, dedupe.Request{Token: token, Lease: time.Minute})
			require.NoError(t, err)
		}
		require.NoError(t, s.Extend(t.Context(), k, "one", time.Minute))
		require.NoError(t, end(k))
		_, err = s.Claim(t.Context(), k, dedupe.Request{Token: "three", Lease: time.Minute})
		require.NoError(t, err)
	}
	for name := range sent.all { // CONFIG and INFO are asked of every master
		require.Contains(t, []string{"set", "evalsha", "eval", "config", "info", "ping", "hello", "client"}, name)
	}
	require.True(t, sent.all["set"] && sent.all["evalsha"])
}
