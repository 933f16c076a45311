// Package redissink delivers records to Redis Streams. A topic is a stream, whose key is Config.Prefix and the topic.
//
//	sink, err := redissink.New(&redis.UniversalOptions{Addrs: []string{"localhost:6379"}}, redissink.Config{Prefix: "shop:"})
//	r, err := relay.New(source, sink, relay.Config{})
//
// The records of a topic in a call are one transaction (MULTI and EXEC): the server takes all of
// them in their order, or none. In a pipeline without a transaction, a server whose memory is
// full for a moment would refuse one record and take later ones of its key. The transactions of
// several topics are sent in one write, with the commands that confirm them, so a call takes one
// round trip.
//
// Redis answers before a write is on disk, unless appendfsync is always. So Config.Ack is the
// durability that a record must have before it counts as delivered, and a server that cannot
// provide it is refused: what it acknowledged would be gone after a crash.
//
// If the outcome of a call stays unknown, its connection is reset before Send returns, so that
// what the server has not read is dropped. A transaction whose EXEC was not read leaves nothing.
//
// An entry has the fields in which watermill-redisstream writes a message:
// _watermill_message_uuid, payload and metadata, a map in MessagePack. Metadata has the record's
// headers, event-id, event-time, event-type and leat_key. A subscriber of watermill-redisstream
// can read it.
//
// It works with Redis 5 or newer and Valkey, standalone or behind Sentinel. It refuses Redis Cluster.
//
// Stability: young, see docs/versions.md.
package redissink
