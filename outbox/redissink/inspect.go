package redissink

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// errLoses is wrapped by the failure of every call on a server that loses what it has
// acknowledged: one that does not provide Config.Ack, or that evicts streams when its memory is
// full. It is an outage, which lasts until the server or Config is changed.
var errLoses = errors.New("leat: this Redis loses what it has acknowledged")

// waiting is the command that is sent after the transactions of a call to confirm them.
type waiting int

const (
	waitNothing  waiting = iota // the answer to a transaction is enough
	waitReplicas                // WAIT
	waitSynced                  // WAITAOF
)

// settings of a server that can be read one by one. Managed servers often forbid it.
const (
	fsyncSetting   = "appendfsync"
	rewriteSetting = "no-appendfsync-on-rewrite"
	bulkSetting    = "proto-max-bulk-len"
)

// inspect asks the server how it stores data, and sets what a link needs to know about it.
func (l *link) inspect(ctx context.Context, cfg *Config) error {
	var info *redis.StringCmd
	answers := make(map[string]*redis.MapStringStringCmd)
	commands, err := l.conn.Pipelined(ctx, func(p redis.Pipeliner) error {
		info = p.Info(ctx)
		for _, name := range [...]string{fsyncSetting, rewriteSetting, bulkSetting} {
			answers[name] = p.ConfigGet(ctx, name)
		}
		return nil
	})
	if err = lost(commands, err); err != nil {
		return err
	}
	if info.Err() != nil && (cfg.Ack != AckMemory || !redis.HasErrorPrefix(info.Err(), "NOPERM")) { // AckMemory does not need it
		return fmt.Errorf("ask how it keeps data: %w", info.Err())
	}
	about := readFacts(info.Val())
	for name, answer := range answers {
		about[name] = answer.Val()[name] // or nothing, if it may not be read
	}
	l.most = cfg.MaxMessageBytes
	if n, err := strconv.Atoi(about[bulkSetting]); err == nil && n > 0 {
		l.most = min(l.most, n)
	}
	if l.waits, err = about.confirmation(cfg.Ack); err != nil {
		return err
	}
	return l.try(ctx)
}

// try runs the commands around the entries of a call, without entries. A server that denies them
// would still add the entries, and each retry would add them once more.
func (l *link) try(ctx context.Context) error {
	commands, err := l.conn.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Do(ctx, "MULTI")
		p.Do(ctx, "EXEC")
		switch l.waits {
		case waitNothing:
		case waitReplicas:
			p.Do(ctx, "WAIT", 0, 1)
		case waitSynced:
			p.Do(ctx, "WAITAOF", 0, 0, 1)
		}
		return nil
	})
	if err = lost(commands, err); err != nil {
		return err
	}
	for _, c := range commands {
		if c.Err() != nil {
			return fmt.Errorf("it does not run %s, which each call needs: %w", strings.ToUpper(c.Name()), c.Err())
		}
	}
	return nil
}

// facts are a server's facts about itself, by name.
type facts map[string]string

// readFacts reads the answer to INFO.
func readFacts(info string) facts {
	all := make(facts)
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			all[name] = value
		}
	}
	return all
}

// confirmation returns the command that confirms a transaction on the server, or an error if
// there is none.
func (f facts) confirmation(ack Ack) (waiting, error) {
	if policy := f["maxmemory_policy"]; strings.HasPrefix(policy, "allkeys-") {
		return 0, fmt.Errorf("%w: its maxmemory-policy is %s, which deletes streams: set noeviction", errLoses, policy)
	}
	switch {
	case ack == AckMemory:
		return waitNothing, nil
	case ack == AckReplicas:
		return waitReplicas, nil
	case f["aof_enabled"] == "0":
		return 0, fmt.Errorf("%w: it has no append-only file: set appendonly yes, or choose another ack", errLoses)
	case f[fsyncSetting] == "always" && f[rewriteSetting] == "no":
		return waitNothing, nil
	case f.before(7, 2):
		return 0, fmt.Errorf("%w: it answers before a write is on disk, and Redis %s has no WAITAOF: set appendfsync always and no-appendfsync-on-rewrite no (now %q and %q), or choose another ack",
			errLoses, f["redis_version"], f[fsyncSetting], f[rewriteSetting])
	default:
		return waitSynced, nil
	}
}

// before reports whether the server is of an earlier version. Valkey reports the version of Redis
// that it is compatible with. A server that reports none counts as new.
func (f facts) before(major, minor int) bool {
	var a, b int
	if n, _ := fmt.Sscanf(f["redis_version"], "%d.%d", &a, &b); n < 2 {
		return false
	}
	return a < major || a == major && b < minor
}

// lost returns the error with which a pipeline has lost its connection, or could not get one, or
// nil: answers of the server do not count. The pipeline's own error is that of its first command,
// or one that belongs to no command.
func lost(commands []redis.Cmder, err error) error {
	answered := false
	for _, command := range commands {
		said := command.Err()
		if said == nil {
			continue
		}
		if _, answer := errors.AsType[redis.Error](said); !answer {
			return said
		}
		answered = true
	}
	if answered {
		return nil
	}
	return err
}
