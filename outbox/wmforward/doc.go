// Package wmforward relays what Watermill's forwarder would: it is a driver.Source over the table
// that watermill-sql's PostgreSQL publisher writes and components/forwarder reads. Producers do
// not change. A relay takes over from the forwarder at its position, and can hand back; see
// docs/from-watermill-forwarder.md.
//
//	source, err := wmforward.New(pool, wmforward.Config{})
//	err = source.Migrate(ctx)
//	sink, err := kafkasink.New(brokers, kafkasink.Config{Format: kafkasink.FormatWatermill, Partitioner: kafkasink.PartitionSarama})
//	r, err := relay.New(source, wmforward.Guard(sink), relay.Config{})
//	err = r.Run(ctx)
//
// Each row holds a message in the forwarder's envelope. It becomes a record with
// the message's UUID as its id, the envelope's destination as its topic, its
// payload, and all of its metadata as headers. With kafkasink's FormatWatermill
// the Kafka records are those that watermill-kafka's DefaultMarshaler makes.
//
// # Order
//
// Records of a key come in the order of their numbers ("offset"), within snapshot windows. If
// producers take turns on a key before they publish, by locking the aggregate's row, that is the
// order of their commits. The forwarder sorts by transaction id, which reverses the order of a
// key if a transaction wrote something else first and took the lock late; and it waits for the
// oldest transaction of the whole cluster, which a Source does not. If producers do not take
// turns, neither promises an order.
//
// # Rows that are not envelopes
//
// A row that cannot be decoded becomes a record without a topic, whose id is the row's uuid,
// whose payload is the content of the row, and whose header leat_malformed has the reason. No
// sink can deliver it: kafkasink answers outbox.FailurePermanent, and so the relay's policy for
// that topic decides. Wrap other sinks in Guard.
//
// Stability: young, see docs/versions.md.
package wmforward
