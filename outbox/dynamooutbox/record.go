package dynamooutbox

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/storable"
	"github.com/leat-go/leat/outbox"
)

// The attributes of a message.
const (
	attrID       = "i"
	attrTopic    = "t"
	attrKey      = "k"
	attrType     = "y"
	attrPayload  = "p"
	attrHeaders  = "h"
	attrOccurred = "o" // microseconds since 1970, if the producer has set it
	attrCreated  = "c" // the same
	attrPrevious = "v" // the previous number of the key, 0 for none
)

// encode adds the attributes of a record to i. Empty attributes are left out.
func encode(i item, r *outbox.Record) item {
	i[attrID], i[attrTopic], i[attrCreated] = text(r.ID), text(r.Topic), number(r.CreatedAt.UnixMicro())
	if r.Key != "" {
		i[attrKey] = text(r.Key)
	}
	if r.Type != "" {
		i[attrType] = text(r.Type)
	}
	if len(r.Payload) > 0 {
		i[attrPayload] = bytes(r.Payload)
	}
	if len(r.Headers) > 0 {
		headers := make(item, len(r.Headers))
		for name, value := range r.Headers {
			headers[name] = text(value)
		}
		i[attrHeaders] = &types.AttributeValueMemberM{Value: headers}
	}
	if !r.OccurredAt.IsZero() {
		i[attrOccurred] = number(r.OccurredAt.UnixMicro())
	}
	return i
}

// decode returns the record of an item. Its number is the sort key.
func decode(i item) outbox.Record {
	r := outbox.Record{
		Message: outbox.Message{
			ID: textOf(i, attrID), Topic: textOf(i, attrTopic), Key: textOf(i, attrKey),
			Type: textOf(i, attrType), Payload: bytesOf(i, attrPayload),
		},
		Seq: numberOf(i, sorting), CreatedAt: time.UnixMicro(numberOf(i, attrCreated)).UTC(),
	}
	switch headers := i[attrHeaders].(type) {
	case nil:
	case *types.AttributeValueMemberM:
		r.Headers = make(map[string]string, len(headers.Value))
		for name := range headers.Value {
			r.Headers[name] = textOf(headers.Value, name)
		}
	default: // written by other programs
		r.Headers = storable.Headers(bytesOf(i, attrHeaders))
	}
	if i[attrOccurred] != nil {
		r.OccurredAt = time.UnixMicro(numberOf(i, attrOccurred)).UTC()
	}
	r.Shard = shardOf(&r.Message)
	return r
}

func shardOf(m *outbox.Message) int16 {
	if m.Key != "" {
		return keyhash.Shard([]byte(m.Key))
	}
	return keyhash.Shard([]byte(m.ID))
}

// sizeOf is the approximate size of an item of the message, in bytes.
func sizeOf(m *outbox.Message) int {
	n := 200 + len(m.ID) + len(m.Topic) + len(m.Key) + len(m.Type) + len(m.Payload)
	for name, value := range m.Headers {
		n += len(name) + len(value) + 8
	}
	return n
}
