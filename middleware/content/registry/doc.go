// Package registry encodes events in Avro, Protobuf and JSON Schema, in the wire format of
// Confluent's schema registry, which its clients in other languages read and write: a zero byte,
// four bytes of the schema's id, and the value. Codecs are for package content; the client
// is github.com/twmb/franz-go/pkg/sr.
//
// An event is encoded in the business transaction, so that one that nobody could read does not
// commit. The registry is asked for each schema once: the first transaction waits for it, a
// second at most, and fails with ErrUnavailable if it does not answer. Until it is asked again,
// other transactions fail without waiting. Schemas that are known need no registry. Call
// Registry.Ready at start, and a new process is ready before its first transaction. If the client
// has several addresses, give its http.Client a timeout below Config.Timeout, or a silent first
// address takes all of it.
//
// Schemas are looked up, not registered, unless Config.Register is set: register them in a
// deployment, by Ready, and let Check ask in CI whether they are compatible.
//
// On the consumer's side, decoding belongs inside the inbox. While the registry is unavailable,
// payloads of unknown schemas fail with inbox.Outage: nothing is parked for it. An id that the
// registry does not have fails as a handler does, since followers lag. Bytes that cannot be
// read, and payloads of another type, are inbox.Permanent: a record with another full name, or a
// Protobuf message at another place of its file. Ids mean nothing in another registry: a topic
// must have one, and a mirror of it must keep its ids.
//
// Stability: young, see docs/versions.md.
package registry
