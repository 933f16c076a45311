package redisdedupe_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/redisdedupe"
)

// BenchmarkStore claims and completes messages in a Redis in this process, and claims
// one that is done. Its allocations, and its time, are the server's and the client's
// as well: they tell one version from the next, and are not rates.
func BenchmarkStore(b *testing.B) {
	client := redis.NewClient(&redis.Options{Addr: miniredis.RunT(b).Addr()})
	defer func() { require.NoError(b, client.Close()) }()
	store, err := redisdedupe.New(client, redisdedupe.Config{})
	require.NoError(b, err)
	request := dedupe.Request{Token: "0190163d-8694-739b-aea5-966c26f8ad91", Lease: 30 * time.Second}
	complete := func(b *testing.B, key dedupe.Key) {
		b.Helper()
		claim, err := store.Claim(b.Context(), key, request)
		if err != nil || claim.Status != dedupe.Claimed {
			b.Fatal(claim.Status, err)
		}
		if done, err := store.Complete(b.Context(), key, request.Token, []byte("result")); err != nil || done != dedupe.Completed {
			b.Fatal(done, err)
		}
	}
	b.Run("first", func(b *testing.B) {
		run := strconv.FormatInt(time.Now().UnixNano(), 10)
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			complete(b, dedupe.Key{Consumer: run, ID: strconv.Itoa(n)})
		}
	})
	b.Run("duplicate", func(b *testing.B) {
		key := dedupe.Key{Consumer: "tester", ID: strconv.FormatInt(time.Now().UnixNano(), 10)}
		complete(b, key)
		b.ReportAllocs()
		for b.Loop() {
			if claim, err := store.Claim(b.Context(), key, request); err != nil || claim.Status != dedupe.Done {
				b.Fatal(claim.Status, err)
			}
		}
	})
}
