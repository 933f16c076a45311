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

// errDenied is returned by Check and Claim for a server on which a message can be claimed but not
// completed.
var errDenied = errors.New("leat: redis does not run what the store needs; allow SET, GET, PTTL, PEXPIRE, EVAL and EVALSHA on the keys of Config.Prefix")

// Check connects, and checks that the server keeps its records: it returns ErrEviction if
// maxmemory-policy is not noeviction. If CONFIG is denied, as by managed services, it logs a
// warning. In a cluster it checks every master. It also tries each kind of step on a record of
// its own, which expires at once, and returns an error for what the server denies: without
// scripts an effect could be made but not remembered. Finally it finds out whether the server can
// compare and set without a script. Call it at the start of a program; the first Claim does the
// same.
func (s *Store) Check(ctx context.Context) error {
	if err := s.checkAll(ctx); err != nil {
		return err
	}
	if err := s.try(ctx); err != nil {
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

// checkOnce runs Check until it passes, and returns its error. If the server cannot be reached,
// it returns nil: the call that follows reports that.
func (s *Store) checkOnce(ctx context.Context) error {
	if s.checked.Load() {
		return nil
	}
	if err := s.Check(ctx); errors.Is(err, ErrEviction) || errors.Is(err, errDenied) {
		return err
	}
	return nil
}

// try runs all steps of a message. It is called before the first effect, since a claim that
// succeeds does not show that scripts are allowed. Each script is sent whole, as after a restart
// of the server, and one of them by its name.
func (s *Store) try(ctx context.Context) error {
	const token, forget = "leat", 1000
	key := []string{s.cfg.Prefix + "check"}
	for _, step := range []func() redis.Cmder{
		func() redis.Cmder {
			return s.client.Do(ctx, "SET", key[0], claimValue(token, 1, 1, forget, ""), "NX", "PX", forget)
		},
		func() redis.Cmder { return s.claim.Eval(ctx, s.client, key, token, 1, forget, "") },
		func() redis.Cmder { return s.extend.Eval(ctx, s.client, key, token, 1) },
		func() redis.Cmder { return s.released.Eval(ctx, s.client, key, token, forget) },
		func() redis.Cmder { return s.complete.Eval(ctx, s.client, key, token, 1, "") },
		func() redis.Cmder { return s.complete.EvalSha(ctx, s.client, key, token, 1, "") },
	} {
		err := step().Err()
		switch {
		case err == nil, errors.Is(err, redis.Nil), redis.HasErrorPrefix(err, "OOM"): // a full memory shows at each claim
		case isDenied(err):
			return fmt.Errorf("%w: %w", errDenied, err)
		default:
			return fmt.Errorf("leat: redis: %w", err)
		}
	}
	return nil
}

// isDenied reports whether the server does not know a command, or denies it to this client or
// within a script (in the words of Redis 7 and of Redis 6).
func isDenied(err error) bool {
	for _, answer := range [...]string{"NOPERM", "ACL failure in script", "The user executing the script", "unknown command"} {
		if redis.HasErrorPrefix(err, answer) {
			return true
		}
	}
	return false
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
