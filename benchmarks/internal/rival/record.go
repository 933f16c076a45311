package rival

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
)

// fillChunk is how many messages a transaction of Fill writes.
const fillChunk = 1000

// kafkaRecord is a message as a relay without a protocol of its own sends it: key,
// value, and the id for whoever deduplicates.
func kafkaRecord(id, topic, key string, payload []byte) *kgo.Record {
	return &kgo.Record{
		Topic: topic, Key: []byte(key), Value: payload,
		Headers: []kgo.RecordHeader{{Key: outbox.HeaderEventID, Value: []byte(id)}},
	}
}
