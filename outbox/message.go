package outbox

import (
	"time"

	"github.com/leat-go/leat/internal/ids"
)

// Message is what a service enqueues in its business transaction.
//
// A message is sent as it was enqueued: every copy of it, through crashes and
// replays, has the same id, topic, key, payload and headers (invariant O4).
type Message struct {
	// ID identifies the message to every consumer's inbox. Any non-empty text up
	// to MaxIDBytes is kept and sent as given.
	// Defaults to a new UUIDv7.
	ID string

	// Topic is the destination. Required.
	Topic string

	// Key orders messages: those with the same topic and key are published in the
	// order in which their transactions committed. Empty means unordered.
	Key string

	// Type is the event type. It travels as header HeaderEventType.
	Type string

	// Payload is the body, serialised by the caller. It is stored and sent byte
	// for byte; nil and empty are the same, and are sent empty. For a null see HeaderTombstone.
	Payload []byte

	// Headers travel with the message. Names are non-empty; names and values are
	// valid UTF-8 without NUL; the names that leat sets itself are refused (see
	// ReservedHeader).
	Headers map[string]string

	// OccurredAt is the time of the event, kept to the microsecond. It travels as
	// header HeaderEventTime and as the broker's record time.
	// Defaults to the time at which the database stored the message.
	OccurredAt time.Time

	// NotBefore delays the message, to the microsecond: it is sent soon after that time by the
	// database's clock, and never before it. Until it is due it has no place in the order of its
	// key; then it gets one. A time in the past means no delay. Records that a relay reads have
	// none. Defaults to now.
	NotBefore time.Time
}

// NewID returns a new UUIDv7, as Enqueue uses for a message without an ID. Call it if you need
// the id before the message is enqueued. It fails only if the operating system has no random
// bytes.
func NewID() (string, error) {
	return ids.New()
}
