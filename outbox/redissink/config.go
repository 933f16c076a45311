package redissink

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
)

const (
	// defaultMaxMessageBytes is the largest value that a server accepts by default.
	defaultMaxMessageBytes = 512 << 20

	minMessageBytes = 1024
	maxReplicas     = 100
)

// Ack is the durability that a record must have before it counts as delivered.
type Ack int

// Values of Ack.
const (
	// AckSynced means that the server has flushed the record to disk: with appendfsync always
	// before it answers, otherwise as confirmed by WAITAOF, which Redis 7.2 and Valkey have. It
	// needs appendonly.
	AckSynced Ack = iota
	// AckReplicas means that Config.Replicas replicas have the record in memory, as confirmed by
	// WAIT. A failover to one of these keeps it.
	AckReplicas
	// AckMemory means that the server has the record in memory. If the server crashes,
	// acknowledged records are lost: with appendfsync everysec those of the last seconds.
	AckMemory
)

// String returns the value's name.
func (a Ack) String() string {
	switch a {
	case AckSynced:
		return "synced"
	case AckReplicas:
		return "replicas"
	case AckMemory:
		return "memory"
	default:
		return fmt.Sprintf("Ack(%d)", int(a))
	}
}

// Config tunes a Sink. The zero value requires records on disk and trims nothing.
type Config struct {
	// Ack is the durability that a record must have before it counts as delivered. Defaults to
	// AckSynced. On a server that cannot provide it every call fails, as an outage.
	Ack Ack

	// Replicas is the number of replicas that AckReplicas waits for, 1 to 100. It must be 0
	// with any other Ack.
	Replicas int

	// Prefix is put before the topic in the key of a stream, such as "shop:". Producers choose
	// topics: without a prefix, and without an ACL that restricts the keys, they can name the
	// stream of any application, which is then written to and trimmed. Defaults to none.
	Prefix string

	// ExistingOnly makes a record whose stream does not exist fail as an outage of its topic.
	// Defaults to false: the stream is created.
	ExistingOnly bool

	// MaxLen trims a stream to about that many entries when it is written to, whether they were
	// read or not, and whichever program has written them. It excludes MaxAge. Defaults to 0:
	// nothing is trimmed, and a stream that is never trimmed grows until the server's memory is
	// full, which is an outage.
	MaxLen int64

	// MaxAge trims entries that are older, read or not, when a stream is written to:
	// approximately, by this machine's clock, at least 1 s. It needs Redis 6.2. Defaults to 0:
	// nothing is trimmed.
	MaxAge time.Duration

	// MaxMessageBytes bounds an entry with its headers, 1,024 to 536,870,912: a larger one is
	// refused for good. A smaller proto-max-bulk-len of the server applies instead, if the sink
	// may read it. Defaults to 536,870,912.
	MaxMessageBytes int

	// Logger receives messages for operators. Defaults to slog.Default() as of New, warnings and
	// errors only; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.MaxMessageBytes = cmp.Or(c.MaxMessageBytes, defaultMaxMessageBytes)
	c.Logger = logger.Or(c.Logger)
	return c
}

// validate must be called before withDefaults.
func (c Config) validate() error {
	switch {
	case c.Ack < AckSynced || c.Ack > AckMemory:
		return outbox.ConfigError("Ack", c.Ack, "must be AckSynced, AckReplicas or AckMemory")
	case c.Ack == AckReplicas && (c.Replicas < 1 || c.Replicas > maxReplicas):
		return outbox.ConfigError("Replicas", c.Replicas, "must be 1 to 100 if replicas acknowledge")
	case c.Ack != AckReplicas && c.Replicas != 0:
		return outbox.ConfigError("Replicas", c.Replicas, "must be 0 unless replicas acknowledge")
	case c.MaxLen < 0:
		return outbox.ConfigError("MaxLen", c.MaxLen, "must not be negative")
	case c.MaxAge != 0 && c.MaxAge < time.Second:
		return outbox.ConfigError("MaxAge", c.MaxAge, "must be at least 1s")
	case c.MaxLen > 0 && c.MaxAge > 0:
		return outbox.ConfigError("MaxAge", c.MaxAge, "must be 0 if MaxLen is set: a stream is trimmed by one of them")
	case c.MaxMessageBytes != 0 && (c.MaxMessageBytes < minMessageBytes || c.MaxMessageBytes > defaultMaxMessageBytes):
		return outbox.ConfigError("MaxMessageBytes", c.MaxMessageBytes, "must be 1024 to 536870912")
	}
	return nil
}

// checkServer returns an error unless o names one server or the sentinels of one.
func checkServer(o *redis.UniversalOptions) error {
	switch {
	case o == nil:
		return outbox.ConfigError("server", nil, "must not be nil")
	case o.IsClusterMode:
		return outbox.ConfigError("IsClusterMode", true, "must be false: Redis Cluster is not supported")
	case len(o.Addrs) == 0:
		return outbox.ConfigError("Addrs", o.Addrs, "must name the server as host:port, or the sentinels")
	case slices.Contains(o.Addrs, ""):
		return outbox.ConfigError("Addrs", o.Addrs, "must not have an empty address")
	case len(o.Addrs) > 1 && o.MasterName == "":
		return outbox.ConfigError("Addrs", o.Addrs, "must be one address unless MasterName is set: Redis Cluster is not supported")
	case o.ReadOnly, o.RouteByLatency, o.RouteRandomly:
		return outbox.ConfigError("ReadOnly, RouteByLatency, RouteRandomly", true, "must be false: a sink writes")
	case o.MaxRetries > 0:
		return outbox.ConfigError("MaxRetries", o.MaxRetries, "must be 0 or negative: what may have been taken would be sent again unseen")
	}
	return nil
}
