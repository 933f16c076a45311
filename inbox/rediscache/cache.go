// Package rediscache is a twotier.Cache on Redis 6 or newer, or Valkey, which all
// processes of a consumer share: standalone, sentinel or cluster.
//
// A message takes one string, its name and the scope: about 200 bytes and the
// lengths of consumer and id, for Config.TTL. It is a cache: unlike a dedupe store
// it may run with any maxmemory-policy, allkeys-lru is fine, and may be flushed or
// restarted at any time. It must not be written to by others.
//
// Stability: young, see docs/versions.md.
package rediscache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leat-go/leat/inbox/twotier"
	"github.com/leat-go/leat/outbox"
)

// Config tunes a cache. The zero value is a good start.
type Config struct {
	// Prefix starts the names of all keys, at most 200 bytes.
	// Defaults to "leat:inbox:".
	Prefix string

	// TTL is how long a message is remembered, at least 1 ms.
	// Defaults to 1 h.
	TTL time.Duration
}

type cache struct {
	client redis.UniversalClient
	cfg    Config
}

// New returns a cache on client, which stays the caller's. A look is one GET, a message that is
// remembered one SET. It does not connect. A cluster client that reads from replicas is refused:
// what is skipped must be known where it is written. Errors wrap outbox.ErrInvalidConfig.
func New(client redis.UniversalClient, cfg Config) (twotier.Cache, error) {
	cfg.Prefix = cmp.Or(cfg.Prefix, "leat:inbox:")
	cfg.TTL = cmp.Or(cfg.TTL, time.Hour)
	switch {
	case client == nil:
		return nil, outbox.ConfigError("client", nil, "must not be nil")
	case len(cfg.Prefix) > 200:
		return nil, outbox.ConfigError("Prefix", strconv.Quote(cfg.Prefix), "must be at most 200 bytes")
	case cfg.TTL < time.Millisecond:
		return nil, outbox.ConfigError("TTL", cfg.TTL, "must be at least 1ms")
	}
	if c, ok := client.(*redis.ClusterClient); ok && c.Options().ReadOnly { // RouteByLatency and RouteRandomly set it
		return nil, outbox.ConfigError("client", "a cluster client with ReadOnly, RouteByLatency or RouteRandomly",
			"must read where it writes: a replica lags, and answers by what was removed")
	}
	return &cache{client: client, cfg: cfg}, nil
}

// key names the entry. The length keeps "a:b" and "c" apart from "a" and "b:c".
func (c *cache) key(consumer, id string) string {
	return c.cfg.Prefix + strconv.Itoa(len(consumer)) + ":" + consumer + ":" + id
}

// Seen implements twotier.Cache.
func (c *cache) Seen(ctx context.Context, consumer, id string) (string, error) {
	scope, err := c.client.Get(ctx, c.key(consumer, id)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("leat: redis: %w", err)
	}
	return scope, nil
}

// Remember implements twotier.Cache.
func (c *cache) Remember(ctx context.Context, consumer, id, scope string) error {
	if err := c.client.Set(ctx, c.key(consumer, id), scope, c.cfg.TTL).Err(); err != nil {
		return fmt.Errorf("leat: redis: %w", err)
	}
	return nil
}
