package inbox

import (
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox"
)

// IDSource finds the id of a message. All deliveries of a message must yield
// the same id, and different messages different ids, whoever produced them. An
// empty id means that the message has none. An error is returned to the caller
// of Process as it is. It is safe for concurrent use.
type IDSource func(msg *message.Message) (string, error)

// IDFromUUID returns an IDSource that takes the Watermill UUID. It is the id
// that the producer gave wherever the subscriber carries it over, as those of
// Kafka, AMQP, NATS, Redis and SQL do.
func IDFromUUID() IDSource {
	return func(msg *message.Message) (string, error) {
		return msg.UUID, nil
	}
}

// IDFromHeader returns an IDSource that takes the first of the metadata called
// names that is not empty: "event-id" of leat, "ce_id" of CloudEvents on Kafka,
// "id" of Debezium's outbox event router.
//
// Make sure that your handlers do not copy such metadata from the message that
// they consume to those that they produce: two messages with one id are one.
func IDFromHeader(names ...string) IDSource {
	return func(msg *message.Message) (string, error) {
		for _, name := range names {
			if id := msg.Metadata.Get(name); id != "" {
				return id, nil
			}
		}
		return "", nil
	}
}

// IDFromFirst returns an IDSource that takes the first id that one of sources
// finds.
func IDFromFirst(sources ...IDSource) IDSource {
	return func(msg *message.Message) (string, error) {
		for _, source := range sources {
			if id, err := source(msg); err != nil || id != "" {
				return id, err
			}
		}
		return "", nil
	}
}

// DefaultIDSource returns the IDSource of a Config that names none: the
// Watermill UUID, and metadata "event-id" if there is no UUID, as in a
// message that leat's Kafka sink sent and a subscriber read that knows nothing
// of Watermill's header. The UUID comes first since metadata is often copied
// from the message that caused another.
// See design 12.4.
func DefaultIDSource() IDSource {
	return IDFromFirst(IDFromUUID(), IDFromHeader(outbox.HeaderEventID))
}
