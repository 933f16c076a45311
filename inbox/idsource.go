package inbox

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/internal/storable"
	"github.com/leat-go/leat/outbox"
)

// maxIDSourceBytes bounds the name of an IDSource.
const maxIDSourceBytes = 1000

// IDSource finds the id of a message.
type IDSource struct {
	// Name identifies the source, in 1 to 1,000 bytes of UTF-8. It is stored with the ids that a
	// consumer remembers, since ids of another source would not recognise a message. So a source
	// that finds the same ids must have the same name. Required.
	Name string

	// Find returns the id. All deliveries of a message must yield the same id, and different
	// messages different ids, whoever produced them. An empty id means that the message has
	// none. An error is returned to the caller of Process as it is. It is safe for concurrent
	// use. Required.
	Find func(msg *message.Message) (string, error)
}

// Check returns an error that wraps outbox.ErrInvalidConfig if s has no Find or no valid Name.
func (s IDSource) Check() error {
	switch {
	case s.Find == nil:
		return outbox.ConfigError("IDFrom.Find", nil, "must not be nil")
	case s.Name == "" || len(s.Name) > maxIDSourceBytes || storable.Text(s.Name) != s.Name:
		return outbox.ConfigError("IDFrom.Name", strconv.Quote(s.Name), "must say where ids come from, in 1 to 1000 bytes of UTF-8: it is kept beside what is remembered")
	}
	return nil
}

// IDFromUUID returns an IDSource that takes the Watermill UUID. It is the producer's id if the
// subscriber preserves it, as those of Kafka, AMQP, NATS, Redis and SQL do.
func IDFromUUID() IDSource {
	return IDSource{Name: "uuid", Find: func(msg *message.Message) (string, error) {
		return msg.UUID, nil
	}}
}

// IDFromHeader returns an IDSource that takes the first non-empty metadata among names:
// "event-id" of leat, "ce_id" of CloudEvents on Kafka, "id" of Debezium's outbox event router.
//
// Make sure that your handlers do not copy such metadata from the message that they consume to
// those that they produce: two messages with one id count as one.
func IDFromHeader(names ...string) IDSource {
	return IDSource{Name: "header " + strings.Join(names, ","), Find: func(msg *message.Message) (string, error) {
		for _, name := range names {
			if id := msg.Metadata.Get(name); id != "" {
				return id, nil
			}
		}
		return "", nil
	}}
}

// IDFromFirst returns an IDSource that takes the first id that one of sources
// finds.
func IDFromFirst(sources ...IDSource) IDSource {
	names := make([]string, len(sources))
	for i, source := range sources {
		names[i] = source.Name
	}
	return IDSource{Name: cmp.Or(strings.Join(names, " or "), "none"), Find: func(msg *message.Message) (string, error) {
		for _, source := range sources {
			if id, err := source.Find(msg); err != nil || id != "" {
				return id, err
			}
		}
		return "", nil
	}}
}

// DefaultIDSource returns the default of Config.IDFrom: the Watermill UUID, or metadata
// "event-id" if there is no UUID, as in a message that leat's Kafka sink sent and a subscriber
// read that does not use Watermill's header. The UUID comes first since metadata is often copied
// from the message that caused another.
// See design 12.4.
func DefaultIDSource() IDSource {
	return IDFromFirst(IDFromUUID(), IDFromHeader(outbox.HeaderEventID))
}
