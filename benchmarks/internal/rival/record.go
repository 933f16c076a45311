package rival

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
)

// fillChunk is the number of messages in a transaction of Fill.
const fillChunk = 1000

// kafkaRecord returns a message as a simple relay would send it: key, value, and the id for deduplication.
func kafkaRecord(id, topic, key string, payload []byte) *kgo.Record {
	return &kgo.Record{
		Topic: topic, Key: []byte(key), Value: payload,
		Headers: []kgo.RecordHeader{{Key: outbox.HeaderEventID, Value: []byte(id)}},
	}
}
