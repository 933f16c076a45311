package rival

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// DebeziumConfig is the variable part of a sweep over Debezium.
type DebeziumConfig struct {
	// BatchSize is max.batch.size, the most events that the connector hands to Kafka Connect at once.
	// QueueSize is max.queue.size, the most events that wait for that.
	BatchSize, QueueSize int
	// PollInterval is poll.interval.ms, how long the connector waits for a batch to
	// become full.
	PollInterval time.Duration
	// ProducerBatch is the producer's batch.size in bytes, and Linger its linger.ms.
	ProducerBatch int
	Linger        time.Duration
	// Idempotent allows the producer to have five requests in flight without losing their order. Otherwise
	// Kafka Connect allows one.
	Idempotent bool
}

// DocumentedDebezium returns the defaults of the connector and of Kafka's producer, as their documentation
// lists them.
func DocumentedDebezium() DebeziumConfig {
	return DebeziumConfig{
		BatchSize: 2048, QueueSize: 8192, PollInterval: 500 * time.Millisecond,
		ProducerBatch: 16_384, Linger: 5 * time.Millisecond,
	}
}

// BestDebezium returns a configuration for throughput: large batches, a queue of several batches, and a
// producer that has more than one request in flight and lingers. It was the fastest in
// BenchmarkDebeziumSweep.
func BestDebezium() DebeziumConfig {
	cfg := PromptDebezium()
	cfg.Linger = 5 * time.Millisecond
	return cfg
}

// PromptDebezium returns a configuration for latency: it neither lingers nor waits for a batch to become
// full. BenchmarkDebeziumLatencySweep compares it with others.
func PromptDebezium() DebeziumConfig {
	return DebeziumConfig{
		BatchSize: 8192, QueueSize: 32_768, PollInterval: time.Millisecond,
		ProducerBatch: 262_144, Idempotent: true,
	}
}

// String names the configuration by its settings, except for the queue.
func (c DebeziumConfig) String() string {
	flying := 1
	if c.Idempotent {
		flying = 5
	}
	return fmt.Sprintf("batch=%d,poll=%v,producer=%dK,linger=%v,inflight=%d",
		c.BatchSize, c.PollInterval, c.ProducerBatch>>10, c.Linger, flying)
}

// Tuning returns the configuration as properties of the connector.
func (c DebeziumConfig) Tuning() map[string]string {
	tuning := map[string]string{
		"max.batch.size":               strconv.Itoa(c.BatchSize),
		"max.queue.size":               strconv.Itoa(c.QueueSize),
		"poll.interval.ms":             strconv.FormatInt(c.PollInterval.Milliseconds(), 10),
		"producer.override.batch.size": strconv.Itoa(c.ProducerBatch),
		"producer.override.linger.ms":  strconv.FormatInt(c.Linger.Milliseconds(), 10),
	}
	if c.Idempotent {
		tuning["producer.override.enable.idempotence"] = "true"
		tuning["producer.override.max.in.flight.requests.per.connection"] = "5"
	}
	return tuning
}

// settings returns the connector's settings: the table of its documentation, through the outbox event
// router to one topic. Only the events are sent, without a schema.
func (c DebeziumConfig) settings(db *pgx.ConnConfig, topic string) map[string]string {
	settings := c.Tuning()
	maps.Copy(settings, map[string]string{
		"connector.class":   "io.debezium.connector.postgresql.PostgresConnector",
		"tasks.max":         "1",
		"database.hostname": db.Host,
		"database.port":     strconv.Itoa(int(db.Port)),
		"database.user":     db.User,
		"database.password": db.Password,
		"database.dbname":   db.Database,
		"database.sslmode":  "disable",

		"plugin.name":                 "pgoutput",
		"publication.name":            debeziumName,
		"publication.autocreate.mode": "filtered",
		"slot.name":                   debeziumName,
		"snapshot.mode":               "no_data",
		"topic.prefix":                debeziumName,
		"table.include.list":          debeziumTable,
		"tombstones.on.delete":        "false",
		"heartbeat.interval.ms":       "0",

		"transforms":             "outbox",
		"transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
		"transforms.outbox.route.topic.replacement": topic,
		"key.converter":   "org.apache.kafka.connect.storage.StringConverter",
		"value.converter": "io.debezium.converters.BinaryDataConverter",
	})
	return settings
}
