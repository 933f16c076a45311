package rediscache_test

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/rediscache"
)

// BenchmarkCache asks a Redis in this process. Its allocations, and its time, are the
// server's and the client's as well: they tell one version from the next, and are not
// rates.
func BenchmarkCache(b *testing.B) {
	client := redis.NewClient(&redis.Options{Addr: miniredis.RunT(b).Addr()})
	defer func() { require.NoError(b, client.Close()) }()
	cache, err := rediscache.New(client, rediscache.Config{})
	require.NoError(b, err)
	require.NoError(b, cache.Remember(b.Context(), "tester", "known", "scope"))
	for id, want := range map[string]string{"known": "scope", "unknown": ""} {
		b.Run("seen/"+id, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if scope, err := cache.Seen(b.Context(), "tester", id); err != nil || scope != want {
					b.Fatal(scope, err)
				}
			}
		})
	}
	b.Run("remember", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := cache.Remember(b.Context(), "tester", "known", "scope"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
