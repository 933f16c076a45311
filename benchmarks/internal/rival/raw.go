// Package rival sets up leat's alternatives, each by its public API and in its best known
// configuration.
package rival

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
)

// Raw is a franz-go producer without a database behind it: the limit of Kafka on this machine.
// Records are acknowledged by all in-sync replicas and idempotent, as with leat's sink.
type Raw struct {
	client *kgo.Client
}

// NewRaw returns a producer with the settings of newClient, followed by options.
func NewRaw(brokers []string, options ...kgo.Opt) (*Raw, error) {
	client, err := newClient(brokers, options...)
	if err != nil {
		return nil, err
	}
	return &Raw{client: client}, nil
}

// newClient returns the producer of all rivals that may choose one. Batches are as large as a topic allows
// by default, nothing lingers, and the buffer never makes the producer wait. options come last.
func newClient(brokers []string, options ...kgo.Opt) (*kgo.Client, error) {
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(brokers...),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerBatchMaxBytes(1_048_588),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.ProducerLinger(0),
		kgo.MaxBufferedRecords(math.MaxInt32),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
	}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("rival: franz-go: %w", err)
	}
	return client, nil
}

// Close closes the connections.
func (r *Raw) Close() {
	r.client.Close()
}

// Produce sends records and returns when all are acknowledged.
func (r *Raw) Produce(ctx context.Context, records []kgo.Record) error {
	var first error
	for i := range records {
		// The client calls its promises one at a time.
		r.client.Produce(ctx, &records[i], func(_ *kgo.Record, err error) {
			if err != nil && first == nil {
				first = err
			}
		})
	}
	if err := r.client.Flush(ctx); err != nil {
		return fmt.Errorf("rival: franz-go: %w", err)
	}
	if first != nil {
		return fmt.Errorf("rival: franz-go: %w", first)
	}
	return nil
}

// KafkaRecords returns messages as leat's sink sends them, with the same key,
// value and headers.
func KafkaRecords(topic string, messages []outbox.Message, at time.Time) []kgo.Record {
	stamp := []byte(outbox.FormatEventTime(at))
	records := make([]kgo.Record, len(messages))
	headers := make([]kgo.RecordHeader, 0, 3*len(messages))
	for i := range messages {
		id := []byte(messages[i].ID)
		from := len(headers)
		headers = append(headers,
			kgo.RecordHeader{Key: outbox.HeaderEventID, Value: id},
			kgo.RecordHeader{Key: outbox.HeaderEventTime, Value: stamp},
			kgo.RecordHeader{Key: outbox.HeaderWatermillUUID, Value: id})
		records[i] = kgo.Record{
			Topic:     topic,
			Key:       []byte(messages[i].Key),
			Value:     messages[i].Payload,
			Headers:   headers[from:len(headers):len(headers)],
			Timestamp: at,
		}
	}
	return records
}

// WithoutHeaders returns copies of records without headers. Producers are usually measured with such
// records.
func WithoutHeaders(records []kgo.Record) []kgo.Record {
	bare := slices.Clone(records)
	for i := range bare {
		bare[i].Headers = nil
	}
	return bare
}
