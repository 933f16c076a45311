// Package redissink delivers records to Redis Streams. A topic is a stream, whose key is Config.Prefix and the topic.
//
//	sink, err := redissink.New(&redis.UniversalOptions{Addrs: []string{"localhost:6379"}}, redissink.Config{Prefix: "shop:"})
//	r, err := relay.New(source, sink, relay.Config{})
//
// The records of a topic in a call are one transaction (MULTI and EXEC): the server takes all of them in
// their order, or none. In a pipeline without a transaction a server whose memory is full for a
// moment refuses one record and takes later ones of its key. The transactions of several topics go out in one
// write, with what confirms them, so a call takes one round trip.
//
// Redis answers before a write is on disk, unless appendfsync is always. So Config.Ack is what a record
// must have reached before it counts as delivered, and a server that cannot give it is refused:
// what it acknowledged would be gone after a crash.
//
// If it stays unknown what happened to a call, its connection is reset before Send returns, so that what the
// server has not read is dropped. A transaction whose EXEC was not read leaves nothing.
//
// An entry has the fields in which watermill-redisstream writes a message: _watermill_message_uuid, payload and
// metadata, a map in MessagePack. Metadata has the record's headers, event-id, event-time, event-type and
// leat_key. A subscriber of watermill-redisstream reads it as it is.
//
// It works with Redis 5 or newer and Valkey, standalone or behind Sentinel. It refuses Redis Cluster.
//
// Stability: young, see docs/versions.md.
package redissink
