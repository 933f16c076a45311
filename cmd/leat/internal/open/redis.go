package open

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
)

// RedisChecks are the checks of the deduplicators' Redis, at a URL such as redis://host:6379, or host:port.
func RedisChecks(address string) ([]doctor.Check, error) {
	options := &redis.Options{Addr: address}
	if strings.Contains(address, "://") {
		var err error
		if options, err = redis.ParseURL(address); err != nil {
			return nil, err
		}
	}
	r := redisServer{options}
	return []doctor.Check{
		{Name: "redis.eviction", Run: func(ctx context.Context) ([]doctor.Finding, error) { return r.ask(ctx, eviction, "maxmemory-policy") }},
		{Name: "redis.persistence", Run: func(ctx context.Context) ([]doctor.Finding, error) {
			return r.ask(ctx, persistence, "save", "appendonly")
		}},
	}, nil
}

type redisServer struct{ options *redis.Options }

// ask judges settings. The result is unknown for a server that does not reveal them, as managed ones do
// not.
func (r redisServer) ask(ctx context.Context, judge func(told map[string]string) []doctor.Finding, settings ...string) ([]doctor.Finding, error) {
	client := redis.NewClient(r.options)
	defer client.Close()
	told := map[string]string{}
	for _, name := range settings {
		found, err := client.ConfigGet(ctx, name).Result()
		if err != nil {
			return nil, fmt.Errorf("redis: %w", err)
		}
		value, ok := found[name]
		if !ok {
			return nil, errors.New("redis does not tell " + name)
		}
		told[name] = value
	}
	return judge(told), nil
}

func eviction(told map[string]string) []doctor.Finding {
	policy := told["maxmemory-policy"]
	if policy == "noeviction" {
		return nil
	}
	return []doctor.Finding{{
		Verdict: doctor.Fail, Text: "maxmemory-policy is " + policy + ": records of what was done are evicted, and repeats run",
		Advice: "CONFIG SET maxmemory-policy noeviction, and in redis.conf",
	}}
}

func persistence(told map[string]string) []doctor.Finding {
	switch {
	case told["appendonly"] == "yes":
		return nil
	case told["save"] == "":
		return []doctor.Finding{{
			Verdict: doctor.Warn, Text: "nothing is persisted: a restart forgets what was done, and repeats run", Advice: "CONFIG SET appendonly yes, and in redis.conf",
		}}
	default:
		return []doctor.Finding{{
			Verdict: doctor.Warn, Text: "snapshots alone: a crash forgets what was done since the last one (save " + told["save"] + ")", Advice: "CONFIG SET appendonly yes, and in redis.conf",
		}}
	}
}
