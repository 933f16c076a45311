package redisdedupe_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/redisdedupe"
	"github.com/leat-go/leat/internal/testenv"
)

// BenchmarkClaimComplete compares a claim and its completion with two bare round
// trips (SET and GET of as many bytes), in turns on the same server: x-bare is the
// speed of ours as a part of theirs.
func BenchmarkClaimComplete(b *testing.B) {
	for _, lanes := range []int{1, 8} {
		b.Run("lanes="+strconv.Itoa(lanes), func(b *testing.B) {
			env := testenv.Redis(b)
			client := redis.NewClient(&redis.Options{Addr: env.Addr, PoolSize: 2 * lanes})
			defer func() { _ = client.Close() }()
			s, err := redisdedupe.New(client, redisdedupe.Config{Prefix: env.Prefix, TTL: time.Minute})
			require.NoError(b, err)
			ctx, value := b.Context(), "P 0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b 1 30000 86400000 "
			ours := func(id string) {
				k := dedupe.Key{Consumer: "bench", ID: id}
				c, err := s.Claim(ctx, k, dedupe.Request{Token: "0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", Lease: 30 * time.Second})
				if err != nil || c.Status != dedupe.Claimed {
					b.Errorf("claim: %v, %v", c.Status, err)
				}
				if done, err := s.Complete(ctx, k, "0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", nil); err != nil || done != dedupe.Completed {
					b.Errorf("complete: %v, %v", done, err)
				}
			}
			bare := func(id string) {
				if err := client.Set(ctx, env.Prefix+"bare:"+id, value, time.Minute).Err(); err != nil {
					b.Error(err)
				}
				if err := client.Get(ctx, env.Prefix+"bare:"+id).Err(); err != nil {
					b.Error(err)
				}
			}
			const chunk = 200
			var took, tookBare time.Duration
			n := 0
			for b.Loop() {
				tookBare += timed(lanes, chunk, n, bare)
				took += timed(lanes, chunk, n, ours)
				n += chunk * lanes
			}
			b.ReportMetric(tookBare.Seconds()/took.Seconds(), "x-bare")
			b.ReportMetric(float64(n)/took.Seconds(), "msg/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// timed runs f for chunk ids on each lane.
func timed(lanes, chunk, from int, f func(id string)) time.Duration {
	began := time.Now()
	var wg sync.WaitGroup
	for lane := range lanes {
		wg.Go(func() {
			for i := range chunk {
				f(strconv.Itoa(lane) + "-" + strconv.Itoa(from+i))
			}
		})
	}
	wg.Wait()
	return time.Since(began)
}
