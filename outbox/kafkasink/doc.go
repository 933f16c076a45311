// Package kafkasink delivers records to Kafka through franz-go: with acks from all in-sync
// replicas, idempotent, and a page of the relay in as few requests as the brokers allow.
//
//	sink, err := kafkasink.New(brokers, kafkasink.Config{}) // topics must exist, or AllowAutoTopicCreation
//	defer sink.Close()
//	r, err := relay.New(source, sink, relay.Config{})
//	err = r.Run(ctx)
//
// A Kafka client is not a channel that stops at the first failure: after a rejected batch it goes
// on with what is produced next. So the Sink checks sizes and topics before it produces, hands
// over a whole call, waits until the client has all of it in the buffers of its partitions,
// flushes, collects every promise, and only then returns. After any failure it closes its client,
// with everything that the client still held, and creates a new one. That is why it creates its
// own clients and cannot be given one.
//
// A record becomes a Kafka record with the message's key (none if it is
// empty), its payload as the value, the time of the event as the timestamp (the time of
// sending if the brokers refuse that, as one far ahead or behind), and as headers those of the message, sorted by name, then outbox.HeaderEventID,
// outbox.HeaderEventTime, outbox.HeaderEventType if there is a type, and
// outbox.HeaderWatermillUUID. watermill-kafka's DefaultMarshaler reads it as a
// message with the same UUID, and with all other headers as its metadata.
//
// Transactional is the sink for readers that must see no record twice. It costs latency and
// throughput. A page is one transaction, so set the relay's PageSize to 5,000 to 10,000, if such
// a page takes no longer than PublishTimeout.
//
// Stability: stable, see docs/versions.md.
package kafkasink
