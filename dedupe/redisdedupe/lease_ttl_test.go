package redisdedupe_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/redisdedupe"
)

// TestD4_LeaseOutlivesTheTTL: a claim whose lease is longer than records are kept is
// kept for as long as its lease.
//
//leat:level 0
func TestD4_LeaseOutlivesTheTTL(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	s, err := redisdedupe.New(client, redisdedupe.Config{TTL: time.Second})
	require.NoError(t, err)
	k := dedupe.Key{Consumer: "c", ID: "m"}
	claim := func(token string) dedupe.Status {
		c, err := s.Claim(t.Context(), k, dedupe.Request{Token: token, Lease: time.Minute})
		require.NoError(t, err)
		return c.Status
	}
	require.Equal(t, dedupe.Claimed, claim("t"))
	server.FastForward(59 * time.Second)
	require.Equal(t, dedupe.Busy, claim("u"))
	server.FastForward(2 * time.Second)
	require.Equal(t, dedupe.Claimed, claim("u"))
}
