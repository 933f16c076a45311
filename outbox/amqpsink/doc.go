// Package amqpsink delivers records to RabbitMQ, by AMQP 0-9-1.
//
//	sink, err := amqpsink.New([]string{"amqp://localhost"}, amqpsink.Config{Exchange: "events"})
//	r, err := relay.New(source, sink, relay.Config{})
//
// Records are published as persistent and mandatory, and the broker confirms each. At most one
// record per topic and key is in flight, and the next one is published only after its confirm.
// Otherwise a broker that refuses one record of a pipeline, as a queue with a length limit and
// reject-publish does, would take the later ones. Records of different keys are published
// concurrently.
//
// If the fate of a record stays unknown, the connection is reset before Send returns, which
// usually drops what the broker has not read yet. What the broker has read, or a proxy or a
// connection that cannot be reset has buffered, may still arrive as a repeat, even after what is
// sent next.
//
// A record that no queue takes is an outage of its topic and not a success: RabbitMQ confirms
// it all the same. So are a missing exchange, a refused login and a broker that blocks its
// publishers. A record that is too large for the broker is refused for good. A nack is a
// failure of an unknown kind.
//
// The message id is the record's, if it is not too long, and the header event-id in any case;
// the content type is that of the header content-type or of Config. All headers are strings.
// Marshaler reads messages of any headers back, for Watermill's subscriber.
//
// Stability: stable, see docs/versions.md.
package amqpsink
