package redisdedupe_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/dedupetest"
	"github.com/leat-go/leat/dedupe/redisdedupe"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/testenv/fakeredis"
)

//leat:level 1
func TestMain(m *testing.M) {
	testenv.PlayRedis(fakeredis.Start)
	testenv.Main(m)
}

type subject struct {
	*redisdedupe.Store

	client redis.UniversalClient
	prefix string
}

// Lose finds the key as an operator would: by its end.
func (s subject) Lose(ctx context.Context, key dedupe.Key) error {
	keys, err := s.client.Keys(ctx, s.prefix+"*:"+key.Consumer+":"+key.ID).Result()
	if err != nil || len(keys) == 0 {
		return err
	}
	return s.client.Del(ctx, keys...).Err()
}

func newSubject(t *testing.T, cfg redisdedupe.Config) subject {
	t.Helper()
	env := testenv.Redis(t)
	client := redis.NewClient(&redis.Options{Addr: env.Addr})
	t.Cleanup(func() { _ = client.Close() })
	cfg.Prefix = env.Prefix
	s, err := redisdedupe.New(client, cfg)
	require.NoError(t, err)
	return subject{s, client, env.Prefix}
}

func TestStore_Conformance(t *testing.T) {
	t.Parallel()
	dedupetest.Run(t, func(t *testing.T) dedupetest.Subject {
		t.Helper()
		return newSubject(t, redisdedupe.Config{})
	})
}

// TestD4_LeaseBeyondTTL: a lease may be long against TTL.
func TestD4_LeaseBeyondTTL(t *testing.T) {
	t.Parallel()
	s := newSubject(t, redisdedupe.Config{TTL: time.Second})
	k := dedupe.Key{Consumer: "c", ID: "m"}
	for _, lease := range []time.Duration{time.Minute, 10 * time.Millisecond, time.Hour, time.Minute} {
		if lease == time.Minute {
			_, err := s.Claim(t.Context(), k, dedupe.Request{Token: "t", Lease: lease})
			require.NoError(t, err)
		}
		require.NoError(t, s.Extend(t.Context(), k, "t", lease+time.Hour))
		c, err := s.Claim(t.Context(), k, dedupe.Request{Token: "u", Lease: lease})
		require.NoError(t, err)
		require.Equal(t, dedupe.Busy, c.Status)
		require.Greater(t, c.Remaining, lease)
		require.LessOrEqual(t, c.Remaining, lease+time.Hour)
	}
}

// TestForeignKey: a key that holds something else is an error, not a message.
func TestForeignKey(t *testing.T) {
	t.Parallel()
	s := newSubject(t, redisdedupe.Config{})
	k := dedupe.Key{Consumer: "c", ID: "m"}
	_, err := s.Claim(t.Context(), k, dedupe.Request{Token: "t", Lease: time.Minute})
	require.NoError(t, err)
	keys, err := s.client.Keys(t.Context(), s.prefix+"*:c:m").Result()
	require.NoError(t, err)
	require.Len(t, keys, 1)
	require.True(t, strings.HasPrefix(keys[0], s.prefix))
	require.NoError(t, s.client.Set(t.Context(), keys[0], "something else", time.Minute).Err())
	_, err = s.Claim(t.Context(), k, dedupe.Request{Token: "t", Lease: time.Minute})
	require.ErrorContains(t, err, "something else")
	_, err = s.Complete(t.Context(), k, "t", nil)
	require.ErrorContains(t, err, "something else")
}

func TestRefusedInput(t *testing.T) {
	t.Parallel()
	s := newSubject(t, redisdedupe.Config{})
	k := dedupe.Key{Consumer: "c", ID: "m"}
	_, err := s.Claim(t.Context(), k, dedupe.Request{Token: "", Lease: time.Minute})
	require.ErrorIs(t, err, dedupe.ErrInvalidKey)
	_, err = s.Claim(t.Context(), k, dedupe.Request{Token: "two words", Lease: time.Minute})
	require.ErrorContains(t, err, "two words")
	_, err = s.Claim(t.Context(), k, dedupe.Request{Token: "t", Lease: time.Microsecond})
	require.ErrorContains(t, err, "1µs")
	require.NoError(t, s.Check(t.Context()))
}
