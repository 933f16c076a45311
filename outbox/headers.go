package outbox

import "time"

// Headers that leat sets on every message it sends, except HeaderTombstone. Consumers read them as
// broker headers or, on Watermill, as metadata.
const (
	// HeaderEventID carries Message.ID.
	HeaderEventID = "event-id"
	// HeaderEventType carries Message.Type, if it has one.
	HeaderEventType = "event-type"
	// HeaderEventTime carries the time of the event as RFC 3339 with
	// nanoseconds, in UTC.
	HeaderEventTime = "event-time"
	// HeaderKey carries Message.Key in Watermill metadata, for adapters of brokers that
	// have no other place for a key.
	HeaderKey = "leat_key"
	// HeaderNotBefore carries Message.NotBefore in Watermill metadata, as RFC 3339. It is read
	// when the message is enqueued, and is not sent.
	HeaderNotBefore = "leat_not_before"
	// HeaderTombstone is set by the producer, to any value, to make a message a tombstone: a null
	// value in a compacted Kafka topic. Every store keeps it like any other header. kafkasink
	// sends a message that has it and an empty payload as a null, without the header. Other sinks
	// send an empty payload, with the header.
	HeaderTombstone = "leat_tombstone"
	// HeaderWatermillUUID carries the id of a Watermill message, as watermill-kafka's
	// DefaultMarshaler writes it.
	HeaderWatermillUUID = "_watermill_message_uuid"
)

// ReservedHeader reports whether leat sets the header called name itself. A Message
// cannot set such a header.
func ReservedHeader(name string) bool {
	switch name {
	case HeaderEventID, HeaderEventType, HeaderEventTime, HeaderKey, HeaderNotBefore, HeaderWatermillUUID:
		return true
	default:
		return false
	}
}

// EventTime returns the time of the event: OccurredAt if the producer gave
// one, else CreatedAt.
func (r *Record) EventTime() time.Time {
	if r.OccurredAt.IsZero() {
		return r.CreatedAt
	}
	return r.OccurredAt
}

// FormatEventTime returns t as header HeaderEventTime carries it.
func FormatEventTime(t time.Time) string {
	return t.UTC().Format(time.RFC3339Nano)
}
