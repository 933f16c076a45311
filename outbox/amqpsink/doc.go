// Package amqpsink delivers records to RabbitMQ, by AMQP 0-9-1.
//
//	sink, err := amqpsink.New([]string{"amqp://localhost"}, amqpsink.Config{Exchange: "events"})
//	r, err := relay.New(source, sink, relay.Config{})
//
// Records are published as persistent and mandatory, and the broker confirms each. Of a topic
// and key one record is under way at a time, the next one only after its confirm: a broker
// that refuses one record of a pipeline, as a queue with a length limit and reject-publish does,
// takes the later ones. Records of different keys go side by side.
//
// If it stays unknown what happened to a record, the connection is reset before Send returns, so that
// what the broker has not read is dropped as a rule. What it has read, or what a proxy or a connection that cannot
// be reset keeps for it, may still arrive, as a repeat, even behind what is sent next.
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
