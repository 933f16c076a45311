package kafkasource

import (
	"cmp"
	"context"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
)

// Unmarshal is the default of Config.Unmarshal. The header outbox.HeaderWatermillUUID is the
// message's UUID, and without it outbox.HeaderEventID; a record with neither has an empty UUID,
// which an inbox refuses unless its IDSource finds another id. All other headers become metadata;
// if a name repeats, the last value wins; the record's key, if it has one, becomes
// outbox.HeaderKey. The message shares the record's value. The error is always nil.
func Unmarshal(r *kgo.Record) (*message.Message, error) {
	id, eventID := "", ""
	metadata := make(message.Metadata, len(r.Headers)+1)
	for _, h := range r.Headers {
		switch h.Key {
		case outbox.HeaderWatermillUUID:
			id = string(h.Value)
			continue
		case outbox.HeaderEventID:
			eventID = string(h.Value)
		}
		metadata[h.Key] = string(h.Value)
	}
	if len(r.Key) > 0 {
		metadata[outbox.HeaderKey] = string(r.Key)
	}
	id = cmp.Or(id, eventID)
	msg := message.NewMessage(id, r.Value)
	msg.Metadata = metadata
	return msg, nil
}

type recordKey struct{}

// RecordFrom returns the record from which the message with this context was made, with its time,
// and its headers in their order and with repetitions. Do not change it.
func RecordFrom(ctx context.Context) (*kgo.Record, bool) {
	r, ok := ctx.Value(recordKey{}).(*kgo.Record)
	return r, ok
}

// sizeOf returns the size of a record for MaxBufferedBytes.
func sizeOf(r *kgo.Record) int {
	size := len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		size += len(h.Key) + len(h.Value)
	}
	return size
}
