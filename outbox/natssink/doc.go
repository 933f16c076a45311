// Package natssink delivers records to NATS JetStream: the topic is the subject, which a stream must have.
// It is a module of its own, for the client of NATS.
//
// Each record is stored before it counts as delivered. Its Nats-Msg-Id has topic, number, time, replay and id of
// the record, so that the stream drops repeats within its window (two minutes unless it is configured
// otherwise), and nothing else: another record of the same id is stored, and so is a replay. Of a topic and key one
// record is under way at a time, the next one only after its acknowledgement: a stream that refuses one
// record of a pipeline, since it is full for a moment, takes the later ones. Records of different keys go
// side by side.
//
// If it stays unknown what happened to a record, the connection is reset before Send returns. What the server has
// read by then is a repeat that the window drops.
//
// A subject that no stream has, or that may not be written to, is an outage of its topic; so is a stream
// that takes nothing more. A record that is too large, or that has headers that NATS cannot carry, is
// refused for good; so is a topic that is a subject of the server's own, such as $JS.API.STREAM.PURGE.x, and a header
// that commands the server, as all that begin with Nats- (Nats-Msg-Id is replaced). All other
// subjects are the producers' choice: give the sink's user the right to publish to those of the outbox alone.
//
// Headers are those of the record and of outbox.ToWatermill: subscribers of watermill-nats with its
// NATSMarshaler read them.
//
// Stability: young, see docs/versions.md.
package natssink
