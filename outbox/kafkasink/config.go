package kafkasink

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// Bounds on the size of a batch, in bytes before compression.
const (
	// defaultMaxMessageBytes is assumed for a topic whose limit the cluster does not report. It
	// is Kafka's own default for max.message.bytes.
	defaultMaxMessageBytes = 1_048_588

	minMessageBytes = 512
	// maxMessageBytes leaves room for a request's header below the largest
	// request that a broker reads by default.
	maxMessageBytes = maxRequestBytes - 64<<10
	maxRequestBytes = 100 << 20
)

// Partitioner is the way in which a key chooses its partition. Producers that share a
// topic must use the same one: otherwise the messages of a key are in two partitions.
type Partitioner int

const (
	// PartitionByFormat hashes keys as the producers of Config.Format do: PartitionSarama
	// with FormatWatermill, otherwise PartitionJava.
	PartitionByFormat Partitioner = iota
	// PartitionJava hashes keys as the Java client does, and with it most others:
	// murmur2.
	PartitionJava
	// PartitionSarama hashes keys as sarama's default partitioner does, and with
	// it watermill-kafka: FNV-1a.
	PartitionSarama
)

// Config tunes a Sink. The zero value is a good start.
type Config struct {
	// Options are applied to every client that the Sink creates: TLS, SASL, client id, dialer,
	// hooks, logger. They are used again after a failure, so they must not contain anything that
	// can be used only once. Options that the guarantees rest on (acks, retries, flushing, batch
	// sizes) are overridden; those that cannot be, such as a transactional id or a consumer
	// group, are refused. Hooks of the client must not keep a record: its memory is reused.
	// Defaults to none.
	Options []kgo.Opt

	// Partitioner chooses the partition of records that have a key. Records without one stay with
	// a partition for 64 KiB and then move to the next. In a topic that watermill-kafka also
	// writes to, only PartitionSarama keeps a key in one partition. Defaults to
	// PartitionByFormat.
	Partitioner Partitioner

	// Format is the form of records. Defaults to FormatLeat.
	Format Format

	// MaxMessageBytes bounds a batch of one partition, and so a single record, in bytes before
	// compression; 512 to 104,792,064. A topic's max.message.bytes wins if it is smaller. If the
	// cluster does not report that limit (it needs DESCRIBE_CONFIGS on the topic), only this
	// bound applies, and it should not exceed the topic's. Defaults to the topic's
	// max.message.bytes, and without that to Kafka's own default, 1,048,588.
	MaxMessageBytes int

	// Compression of batches. Defaults to none.
	Compression kgo.CompressionCodec

	// AllowAutoTopicCreation lets the cluster create a topic that is missing, with
	// its defaults, as Watermill's publishers do. The cluster must allow it as
	// well. Defaults to false: a misspelt topic is an outage of that topic and
	// not a new topic.
	AllowAutoTopicCreation bool

	// TopicTimeout is how long a Send waits for a topic that the cluster does not know, the first
	// time: a new topic reaches the brokers one by one. The page's other topics wait with it.
	// After that its records fail as outbox.FailureOutage, with outbox.ErrTopicUnavailable, until
	// the cluster has it. If more than eight topics are missing at once, Send waits for none of
	// them, unless AllowAutoTopicCreation is set. After a wait without success, it does not wait
	// for any other topic for nine times as long. Defaults to 1 s.
	TopicTimeout time.Duration

	// Logger receives messages for operators. Defaults to slog.Default() as of New, warnings and
	// errors only; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger

	// Hooks observe the sink, by driver.ReplaceHook. Defaults to none.
	Hooks []outbox.Hook
}

func (c Config) withDefaults() Config {
	c.TopicTimeout = cmp.Or(c.TopicTimeout, time.Second)
	if c.Partitioner == PartitionByFormat {
		c.Partitioner = PartitionJava
		if c.Format == FormatWatermill {
			c.Partitioner = PartitionSarama
		}
	}
	c.Logger = logger.Or(c.Logger)
	return c
}

func (c Config) validate() error {
	if c.Partitioner != PartitionJava && c.Partitioner != PartitionSarama {
		return outbox.ConfigError("Partitioner", int(c.Partitioner), "must be PartitionByFormat, PartitionJava or PartitionSarama")
	}
	if c.Format != FormatLeat && c.Format != FormatWatermill {
		return outbox.ConfigError("Format", int(c.Format), "must be FormatLeat or FormatWatermill")
	}
	if c.MaxMessageBytes != 0 && (c.MaxMessageBytes < minMessageBytes || c.MaxMessageBytes > maxMessageBytes) {
		return outbox.ConfigError("MaxMessageBytes", c.MaxMessageBytes, "must be 512 to 104792064")
	}
	if c.TopicTimeout < 0 {
		return outbox.ConfigError("TopicTimeout", c.TopicTimeout, "must not be negative")
	}
	return hooks.Refuse(c.Hooks, "kafkasink", hooks.Is[driver.ReplaceHook])
}
