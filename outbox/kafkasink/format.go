package kafkasink

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
)

// Format is the form of a record in Kafka, except for its topic, key and time.
type Format int

const (
	// FormatLeat is the form that the package comment describes.
	FormatLeat Format = iota
	// FormatWatermill is that of watermill-kafka's DefaultMarshaler: the header
	// outbox.HeaderWatermillUUID, then the message's own headers, sorted by name, and none of
	// leat's. A nil payload is a null value, as in watermill-kafka. It is for consumers that
	// expect what a Watermill publisher sends. Keys choose partitions as in watermill-kafka,
	// unless Config.Partitioner is set.
	FormatWatermill
)

// watermill appends the headers of FormatWatermill.
func (p *page) watermill(r *outbox.Record) []kgo.RecordHeader {
	start := len(p.headers)
	p.set(outbox.HeaderWatermillUUID, p.text(r.ID))
	p.ownHeaders(r)
	return p.headers[start:len(p.headers):len(p.headers)]
}
