package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/results"
	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/redisdedupe"
	"github.com/leat-go/leat/internal/testenv"
)

// BenchmarkRedisClaim compares a claim and its completion in Redis with two bare
// round trips, a SET and a GET of as many bytes. Redis completes by a script, Valkey compares and sets by itself.
func BenchmarkRedisClaim(b *testing.B) {
	b.Run("server=redis", func(b *testing.B) {
		s := testenv.PrivateRedis(b, nil)
		results.Uses(b, results.Server{Name: "Redis", Version: s.Version})
		redisClaims(b, s.Addr)
	})
	b.Run("server=valkey", func(b *testing.B) {
		s := testenv.PrivateValkey(b, nil)
		results.Uses(b, results.Server{Name: "Valkey", Version: s.Version})
		redisClaims(b, s.Addr)
	})
}

func redisClaims(b *testing.B, address string) {
	b.Helper()
	for _, lanes := range []int{1, 8} {
		b.Run(fmt.Sprintf("lanes=%d", lanes), func(b *testing.B) { redisClaim(b, address, lanes) })
	}
}

func redisClaim(b *testing.B, address string, lanes int) {
	b.Helper()
	prefix := fmt.Sprintf("lanes=%d:", lanes)
	size := scale(b).redis
	client := redis.NewClient(&redis.Options{Addr: address, PoolSize: 2 * lanes})
	defer func() { _ = client.Close() }() // nothing is left to lose
	store, err := redisdedupe.New(client, redisdedupe.Config{Prefix: prefix, TTL: time.Minute})
	require.NoError(b, err)

	const token = "0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
	claim := func(ctx context.Context, id string) error {
		key := dedupe.Key{Consumer: "bench", ID: id}
		c, err := store.Claim(ctx, key, dedupe.Request{Token: token, Lease: 30 * time.Second})
		if err != nil || c.Status != dedupe.Claimed {
			return fmt.Errorf("claim: %v, %w", c.Status, err)
		}
		if done, err := store.Complete(ctx, key, token, nil); err != nil || done != dedupe.Completed {
			return fmt.Errorf("complete: %v, %w", done, err)
		}
		return nil
	}
	value := "P " + token + " 1 30000 86400000 "
	bare := func(ctx context.Context, id string) error {
		if err := client.Set(ctx, prefix+"bare:"+id, value, time.Minute).Err(); err != nil {
			return err
		}
		got, err := client.Get(ctx, prefix+"bare:"+id).Result()
		if err == nil && got != value {
			err = fmt.Errorf("got %q", got)
		}
		return err
	}
	contender := func(name string, do func(ctx context.Context, id string) error) compare.Contender {
		from := 0
		run := func(int) (time.Duration, error) {
			from += size.transactions
			return eachID(b.Context(), lanes, from, size.transactions, do)
		}
		_, err := run(0) // connections and scripts
		require.NoError(b, err)
		return compare.Contender{Name: name, Ops: size.transactions, Run: run}
	}
	leat, rival := contender("leat", claim), contender("bare", bare)
	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "msg/s", leat, rival)
}

// eachID does something for count ids in lanes.
func eachID(ctx context.Context, lanes, from, count int, do func(ctx context.Context, id string) error) (time.Duration, error) {
	errs := make([]error, lanes)
	var group sync.WaitGroup
	began := time.Now()
	for lane := range lanes {
		group.Go(func() {
			for i := lane; i < count && errs[lane] == nil; i += lanes {
				errs[lane] = do(ctx, strconv.Itoa(from+i))
			}
		})
	}
	group.Wait()
	return time.Since(began), errors.Join(errs...)
}
