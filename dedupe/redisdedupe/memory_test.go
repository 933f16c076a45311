package redisdedupe_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/redisdedupe"
	"github.com/leat-go/leat/internal/testenv"
)

// private returns a store on a Redis of the test's own.
func private(t *testing.T, settings map[string]string, cfg redisdedupe.Config) (*redisdedupe.Store, *redis.Client, *testenv.RedisServer) {
	t.Helper()
	server := testenv.PrivateRedis(t, settings)
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = client.Close() })
	s, err := redisdedupe.New(client, cfg)
	require.NoError(t, err)
	return s, client, server
}

// fill leaves the server no memory to write with.
func fill(t *testing.T, client *redis.Client) {
	t.Helper()
	require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", "1mb").Err())
	require.ErrorContains(t, client.Set(t.Context(), "filler", strings.Repeat("x", 1000), 0).Err(), "OOM")
}

func claimAs(t *testing.T, s dedupe.Store, id, token string) dedupe.Claim {
	t.Helper()
	c, err := s.Claim(t.Context(), dedupe.Key{Consumer: "c", ID: id}, dedupe.Request{Token: token, Lease: time.Minute})
	require.NoError(t, err)
	return c
}

// TestD3_CompletesInAFullMemory: what has run becomes done although Redis can
// store nothing more; nothing new is claimed; what failed can be claimed once
// there is memory again.
func TestD3_CompletesInAFullMemory(t *testing.T) {
	t.Parallel()
	s, client, _ := private(t, nil, redisdedupe.Config{TTL: time.Hour})
	key := func(id string) dedupe.Key { return dedupe.Key{Consumer: "c", ID: id} }
	for _, id := range []string{"done", "failed", "late", "extended", "lost"} {
		require.Equal(t, dedupe.Claimed, claimAs(t, s, id, "t").Status)
	}
	require.NoError(t, s.Release(t.Context(), key("late"), "t"))
	require.NoError(t, client.Del(t.Context(), "leat:dedupe:1:c:lost").Err())
	fill(t, client)

	_, err := s.Claim(t.Context(), key("new"), dedupe.Request{Token: "t", Lease: time.Minute})
	require.ErrorContains(t, err, "OOM", "nothing has run, and nothing does")

	for range 2 {
		c, err := s.Complete(t.Context(), key("done"), "t", []byte("the result"))
		require.NoError(t, err)
		require.Equal(t, dedupe.Completed, c)
	}
	require.Equal(t, dedupe.Done, claimAs(t, s, "done", "u").Status)
	require.ErrorIs(t, s.Extend(t.Context(), key("done"), "t", time.Minute), dedupe.ErrFenced)
	require.NoError(t, s.Release(t.Context(), key("done"), "t"))
	c, err := s.Complete(t.Context(), key("done"), "u", nil)
	require.NoError(t, err)
	require.Equal(t, dedupe.FencedDone, c)

	for id, want := range map[string]dedupe.Completion{"late": dedupe.Late, "lost": dedupe.Resurrected} {
		c, err = s.Complete(t.Context(), key(id), "t", nil)
		require.NoError(t, err)
		require.Equal(t, want, c)
		require.Equal(t, dedupe.Done, claimAs(t, s, id, "u").Status)
	}

	for _, lease := range []time.Duration{time.Minute, time.Second, time.Hour} {
		require.NoError(t, s.Extend(t.Context(), key("extended"), "t", lease))
		require.Equal(t, dedupe.Busy, claimAs(t, s, "extended", "u").Status)
	}
	require.NoError(t, s.Release(t.Context(), key("failed"), "t"))

	require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", "0").Err())
	again := claimAs(t, s, "failed", "u")
	require.Equal(t, dedupe.Claimed, again.Status)
	require.Equal(t, 2, again.Attempt)
	require.Equal(t, dedupe.Done, claimAs(t, s, "done", "v").Status)
	ttl, err := client.PTTL(t.Context(), "leat:dedupe:1:c:done").Result()
	require.NoError(t, err)
	require.InDelta(t, time.Hour, ttl, float64(time.Minute), "what is done has no other expiry than with memory")
}

// TestD8_KilledServer: Redis without persistence forgets everything; handlers run
// again, and nothing is lost or stuck.
//
//leat:level 4
func TestD8_KilledServer(t *testing.T) {
	t.Parallel()
	s, _, server := private(t, nil, redisdedupe.Config{})
	require.Equal(t, dedupe.Claimed, claimAs(t, s, "m", "t").Status)
	server.Kill()
	_, err := s.Claim(t.Context(), dedupe.Key{Consumer: "c", ID: "m"}, dedupe.Request{Token: "u", Lease: time.Minute})
	require.Error(t, err)
	server.Start()
	require.ErrorIs(t, s.Extend(t.Context(), dedupe.Key{Consumer: "c", ID: "m"}, "t", time.Minute), dedupe.ErrFenced)
	c, err := s.Complete(t.Context(), dedupe.Key{Consumer: "c", ID: "m"}, "t", nil)
	require.NoError(t, err, "the scripts are loaded anew")
	require.Equal(t, dedupe.Resurrected, c)
}

// TestD8_EvictionIsRefusedUnasked: S10. A program that never calls Check does not find
// out by repeats.
func TestD8_EvictionIsRefusedUnasked(t *testing.T) {
	t.Parallel()
	s, client, _ := private(t, map[string]string{"maxmemory-policy": "allkeys-lru"}, redisdedupe.Config{})
	for range 2 {
		_, err := s.Claim(t.Context(), dedupe.Key{Consumer: "c", ID: "m"}, dedupe.Request{Token: "t", Lease: time.Minute})
		require.ErrorIs(t, err, redisdedupe.ErrEviction)
	}
	require.NoError(t, client.ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err())
	require.Equal(t, dedupe.Claimed, claimAs(t, s, "m", "t").Status)
	before := client.Info(t.Context(), "commandstats").Val()
	require.Contains(t, before, "cmdstat_ping:calls=3,")
	require.Equal(t, dedupe.Claimed, claimAs(t, s, "n", "t").Status)
	require.Contains(t, client.Info(t.Context(), "commandstats").Val(), "cmdstat_ping:calls=3,", "asked once")
}

func TestCheck_Eviction(t *testing.T) {
	t.Parallel()
	s, client, _ := private(t, map[string]string{"maxmemory-policy": "allkeys-lru"}, redisdedupe.Config{})
	err := s.Check(t.Context())
	require.ErrorIs(t, err, redisdedupe.ErrEviction)
	require.ErrorContains(t, err, "allkeys-lru")
	lenient, err := redisdedupe.New(client, redisdedupe.Config{AllowEviction: true})
	require.NoError(t, err)
	require.NoError(t, lenient.Check(t.Context()))
	require.NoError(t, client.Do(t.Context(), "ACL", "SETUSER", "default", "-config").Err())
	require.NoError(t, s.Check(t.Context()), "CONFIG is denied: a warning")
}

// TestD8_DeniedStepsAreRefused: a claim needs SET alone. A server that denies what the other
// steps need would see the effect made, and could not be told.
func TestD8_DeniedStepsAreRefused(t *testing.T) {
	t.Parallel()
	_, client, server := private(t, nil, redisdedupe.Config{})
	for user, rules := range map[string][]any{
		"scripts": {"-@scripting"}, "eval": {"-eval"}, "names": {"-evalsha"}, "expiry": {"-pexpire"}, "rest": {"-pttl"}, "get": {"-get"},
	} {
		args := append([]any{"ACL", "SETUSER", user, "reset", "on", ">p", "~*", "&*", "+@all"}, rules...)
		require.NoError(t, client.Do(t.Context(), args...).Err())
		denied := redis.NewClient(&redis.Options{Addr: server.Addr, Username: user, Password: "p"})
		t.Cleanup(func() { require.NoError(t, denied.Close()) })
		s, err := redisdedupe.New(denied, redisdedupe.Config{Prefix: user})
		require.NoError(t, err)
		require.ErrorContains(t, s.Check(t.Context()), "redis does not run what the store needs", user)
		for range 2 { // for as long as it denies them
			_, err = s.Claim(t.Context(), dedupe.Key{Consumer: "c", ID: "m"}, dedupe.Request{Token: "t", Lease: time.Minute})
			require.ErrorContains(t, err, "redis does not run what the store needs", user)
		}
		require.NoError(t, client.Do(t.Context(), "ACL", "SETUSER", user, "+@all").Err())
		require.Equal(t, dedupe.Claimed, claimAs(t, s, "m", "t").Status)
	}
}
