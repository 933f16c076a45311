// Package rediscache is a twotier.Cache on Redis 6 or newer, or Valkey, which all
// processes of a consumer share: standalone, sentinel or cluster.
//
// A message takes one string, with its name and the scope: about 200 bytes plus the lengths of
// consumer and id, for Config.TTL. It is a cache: unlike a dedupe store it may run with any
// maxmemory-policy, for example allkeys-lru, and may be flushed or restarted at any time. Other
// programs must not write to its keys.
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

// New returns a cache on client, which the caller closes. A look is one GET, and remembering a
// message is one SET. New does not connect. A cluster client that reads from replicas is refused:
// reads must see what was written. Errors wrap outbox.ErrInvalidConfig.
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

// key returns the name of the entry. The length in it distinguishes "a:b" and "c" from "a" and
// "b:c".
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
