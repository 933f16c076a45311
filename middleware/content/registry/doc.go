// Package registry encodes events in Avro, Protobuf and JSON Schema, in the wire format of
// Confluent's schema registry, which clients in other languages read and write: a zero byte, four
// bytes of the schema's id, and the value. Codecs are for package content; the client is
// github.com/twmb/franz-go/pkg/sr.
//
// An event is encoded in the business transaction, so that an event that no consumer could read
// does not commit. The registry is asked for each schema once: the first transaction waits for
// it, for at most one second, and fails with ErrUnavailable if it does not answer. Until it is
// asked again, other transactions fail without waiting. Known schemas need no registry. If a new
// process calls Registry.Ready at its start, it is ready before its first transaction. If the
// client has several addresses, give its http.Client a timeout below Config.Timeout; otherwise a
// silent first address uses up all of it.
//
// Schemas are looked up, not registered, unless Config.Register is set: register them in a
// deployment, by Ready, and let Check ask in CI whether they are compatible.
//
// On the consumer's side, decoding belongs inside the inbox. While the registry is unavailable,
// payloads of unknown schemas fail with inbox.Outage: no message is parked because of it. An id
// that the registry does not have fails like a handler, since followers lag. Unreadable bytes,
// and payloads of another type, are inbox.Permanent: a record with another full name, or a
// Protobuf message at another place of its file. Ids mean nothing in another registry: a topic
// must use one registry, and a mirror of the registry must keep its ids.
//
// Stability: young, see docs/versions.md.
package registry
