package redisdedupe_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/redisdedupe"
)

// hset is the forbidden store that writes that a message is done as it writes
// everything else.
type hset struct {
	*redisdedupe.Store

	client *redis.Client
}

func (h hset) Claim(ctx context.Context, key dedupe.Key, req dedupe.Request) (dedupe.Claim, error) {
	state, err := h.client.HGet(ctx, "hash:"+key.ID, "state").Result()
	if err == nil && state == "done" {
		return dedupe.Claim{Status: dedupe.Done}, nil
	}
	return h.Store.Claim(ctx, key, req)
}

func (h hset) Complete(ctx context.Context, key dedupe.Key, _ string, _ []byte) (dedupe.Completion, error) {
	return dedupe.Completed, h.client.HSet(ctx, "hash:"+key.ID, "state", "done").Err()
}

// TestD3_EffectsInAFullMemory fills Redis while handlers run. Ours have run once
// when all is delivered again; the forbidden form runs them twice.
func TestD3_EffectsInAFullMemory(t *testing.T) {
	t.Parallel()
	s, client, _ := private(t, nil, redisdedupe.Config{})
	for want, store := range map[int]dedupe.Store{1: s, 2: hset{s, client}} {
		require.NoError(t, client.FlushAll(t.Context()).Err())
		require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", "0").Err())
		p, err := dedupe.New(store, "c", dedupe.Config{Lease: 200 * time.Millisecond, BusyDelay: 10 * time.Millisecond})
		require.NoError(t, err)
		effects := 0
		deliver := func(fill func()) error {
			_, err := p.Do(t.Context(), dedupe.Message{ID: "m"}, func(context.Context) ([]byte, error) {
				effects++
				fill()
				return nil, nil
			})
			return err
		}
		first := deliver(func() { fill(t, client) })
		require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", "0").Err())
		for deliver(func() {}) != nil { // until the lease is over
			require.NoError(t, t.Context().Err())
		}
		require.Equal(t, want, effects)
		require.Equal(t, want == 1, first == nil)
	}
}
