package rediscache_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/inbox/rediscache"
	"github.com/leat-go/leat/inbox/twotier"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/testenv/fakeredis"
	"github.com/leat-go/leat/outbox"
)

//leat:level 1
func TestMain(m *testing.M) {
	testenv.PlayRedis(fakeredis.Start)
	testenv.Main(m)
}

var errRan = errors.New("the handler ran")

func newCache(t *testing.T, client redis.UniversalClient, prefix string) twotier.Cache {
	t.Helper()
	c, err := rediscache.New(client, rediscache.Config{Prefix: prefix})
	require.NoError(t, err)
	return c
}

// process is one process of a consumer: its own inbox, and the shared cache. Its
// inbox knows nothing, so that a duplicate is the cache's answer.
func process(t *testing.T, cache twotier.Cache, skips *atomic.Int64) func(id string, err error) (inbox.Outcome, error) {
	t.Helper()
	in, err := meminbox.New("tester", meminbox.Config{})
	require.NoError(t, err)
	scope := func(context.Context) (string, error) { return "scope", nil }
	p, err := twotier.New(in.Processor, twotier.Config{
		Scope: scope, Memory: -1, Shared: cache, Hooks: []outbox.Hook{counter{skips}}, CacheTimeout: 10 * time.Second, RetryAfter: time.Nanosecond,
	})
	require.NoError(t, err)
	return func(id string, err error) (inbox.Outcome, error) {
		return p.Process(t.Context(), message.NewMessage(id, nil), func(context.Context) error { return err })
	}
}

type counter struct{ skips *atomic.Int64 }

func (c counter) OnTwotierLook(_ context.Context, e twotier.LookEvent) {
	if e.Skipped {
		c.skips.Add(1)
	}
}

// TestI9_ProcessesShareWhatIsCommitted: what one process has committed another
// skips; what failed it does not; texts that run together are apart.
func TestI9_ProcessesShareWhatIsCommitted(t *testing.T) {
	t.Parallel()
	env := testenv.Redis(t)
	client := redis.NewClient(&redis.Options{Addr: env.Addr})
	t.Cleanup(func() { _ = client.Close() })
	cache := newCache(t, client, env.Prefix)
	var skips atomic.Int64
	one, two := process(t, cache, &skips), process(t, cache, &skips)
	_, err := one("a", nil)
	require.NoError(t, err)
	_, err = one("failed", errRan)
	require.ErrorIs(t, err, errRan)
	outcome, err := two("a", errRan)
	require.NoError(t, err)
	require.Equal(t, inbox.OutcomeDuplicate, outcome)
	_, err = two("failed", errRan)
	require.ErrorIs(t, err, errRan)
	require.EqualValues(t, 1, skips.Load())

	require.NoError(t, cache.Remember(t.Context(), "a", "b:c", "s"))
	scope, err := cache.Seen(t.Context(), "a:b", "c")
	require.NoError(t, err)
	require.Empty(t, scope)
	ttl, err := client.PTTL(t.Context(), env.Prefix+"1:a:b:c").Result()
	require.NoError(t, err)
	require.InDelta(t, time.Hour, ttl, float64(time.Minute))
}

// TestI1_RedisAway: messages go through the inbox as without a cache.
func TestI1_RedisAway(t *testing.T) {
	t.Parallel()
	server := testenv.PrivateRedis(t, nil)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	var skips atomic.Int64
	deliver := process(t, newCache(t, client, ""), &skips)
	_, err := deliver("before", nil)
	require.NoError(t, err)
	server.Kill()
	_, err = deliver("a", nil)
	require.NoError(t, err)
	outcome, err := deliver("before", errRan)
	require.NoError(t, err)
	require.Equal(t, inbox.OutcomeDuplicate, outcome, "the inbox's answer")
	require.Zero(t, skips.Load())
	server.Start()
	for skips.Load() == 0 { // the server has lost everything, and learns it anew
		outcome, err := deliver("before", errRan)
		require.NoError(t, err)
		require.Equal(t, inbox.OutcomeDuplicate, outcome)
		require.NoError(t, t.Context().Err())
	}
}

//leat:level 0
func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "localhost:1"})
	defer func() { _ = client.Close() }()
	_, err := rediscache.New(nil, rediscache.Config{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	_, err = rediscache.New(client, rediscache.Config{TTL: 1})
	require.ErrorContains(t, err, "TTL = 1ns")
	_, err = rediscache.New(client, rediscache.Config{Prefix: string(make([]byte, 201))})
	require.ErrorContains(t, err, "Prefix")
}

// TestR13_ReplicasAreNotAsked: a message is skipped by what the cache says, so that it must not be
// read from a replica.
func TestR13_ReplicasAreNotAsked(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]redis.ClusterOptions{
		"ReadOnly": {ReadOnly: true}, "RouteByLatency": {RouteByLatency: true}, "RouteRandomly": {RouteRandomly: true},
	} {
		o.Addrs = []string{"127.0.0.1:1"}
		client := redis.NewClusterClient(&o)
		_, err := rediscache.New(client, rediscache.Config{})
		require.ErrorIs(t, err, outbox.ErrInvalidConfig, name)
		require.ErrorContains(t, err, name)
		require.NoError(t, client.Close())
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	defer func() { require.NoError(t, client.Close()) }()
	_, err := rediscache.New(client, rediscache.Config{})
	require.NoError(t, err)
}
