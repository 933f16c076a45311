// Package natssink delivers records to NATS JetStream: the topic is the subject, which a stream
// must have. It is a separate module, because of the NATS client.
//
// Each record is stored before it counts as delivered. Its Nats-Msg-Id has topic, number, time,
// replay and id of the record, so that the stream drops repeats within its window (two minutes by
// default), and nothing else: another record with the same id is stored, and so is a replay. At
// most one record per topic and key is in flight, and the next one is sent only after its
// acknowledgement. Otherwise a stream that refuses one record of a pipeline, because it is full
// for a moment, would take the later ones. Records of different keys are sent concurrently.
//
// If the fate of a record stays unknown, the connection is reset before Send returns. What the
// server has read by then is a repeat that the window drops.
//
// A subject that no stream has, or that may not be written to, is an outage of its topic; so is a
// stream that accepts nothing more. A record that is too large, or that has headers that NATS
// cannot carry, is refused for good. So is a topic that is one of the server's own subjects, such
// as $JS.API.STREAM.PURGE.x, and a header that commands the server, as all those do that begin
// with Nats- (Nats-Msg-Id is replaced). Producers may choose any other subject: give the sink's
// user the right to publish only to those of the outbox.
//
// The headers are those of the record and of outbox.ToWatermill: subscribers of watermill-nats with its
// NATSMarshaler read them.
//
// Stability: young, see docs/versions.md.
package natssink
