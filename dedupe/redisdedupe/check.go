package redisdedupe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/redis/go-redis/v9"
)

// ErrEviction is returned by Check and Claim for a server that evicts keys when its memory
// is full (Config.AllowEviction).
var ErrEviction = errors.New("leat: redis evicts keys when its memory is full; set maxmemory-policy noeviction")

// Check connects, and looks whether the server keeps what it is told: it
// returns ErrEviction where maxmemory-policy is not noeviction. Where CONFIG is
// denied, as managed services do, it logs a warning. In a cluster it looks at
// every master. It is for the start of a program; the first Claim does the same.
// It also finds out whether the server can compare and set without a script.
func (s *Store) Check(ctx context.Context) error {
	if err := s.checkAll(ctx); err != nil {
		return err
	}
	compares, err := s.canCompare(ctx)
	if err != nil {
		return fmt.Errorf("leat: redis: %w", err)
	}
	s.compares.Store(compares)
	s.checked.Store(true)
	return nil
}

// checkOnce refuses what Check would, as long as it would. A server that cannot be
// asked is the business of the call that follows.
func (s *Store) checkOnce(ctx context.Context) error {
	if s.checked.Load() {
		return nil
	}
	if err := s.Check(ctx); errors.Is(err, ErrEviction) {
		return err
	}
	return nil
}

func (s *Store) checkAll(ctx context.Context) error {
	if cluster, ok := s.client.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error { return s.checkNode(ctx, c) })
	}
	return s.checkNode(ctx, s.client)
}

func (s *Store) checkNode(ctx context.Context, c redis.Cmdable) error {
	if err := c.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("leat: redis: %w", err)
	}
	settings, err := c.ConfigGet(ctx, "maxmemory-policy").Result()
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("leat: redis: %w", err)
		}
		s.cfg.Logger.WarnContext(ctx, "cannot see whether redis evicts keys; maxmemory-policy must be noeviction", slog.Any("error", err))
		return nil
	}
	policy := settings["maxmemory-policy"]
	if policy == "" || strings.EqualFold(policy, "noeviction") {
		return nil
	}
	if s.cfg.AllowEviction {
		s.cfg.Logger.WarnContext(ctx, "redis may evict records, repeats of them then run", slog.String("maxmemory_policy", policy))
		return nil
	}
	return fmt.Errorf("%w: it is %s", ErrEviction, policy)
}
