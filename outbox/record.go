package outbox

import "time"

// Record is a committed message as a relay reads it. Sinks must not change it, and must not keep
// its slices and maps after Send has returned.
type Record struct {
	Message

	// Seq is the record's number in its log: unique, and ascending per topic and
	// key in the order of the commits. It has gaps.
	Seq int64

	// Shard is the virtual shard of the key, or of the id if there is no key:
	// 0…63.
	Shard int16

	// CreatedAt is the database's clock when the message was stored, which is
	// before its transaction committed.
	CreatedAt time.Time

	// Replay is empty when a relay delivers the record. When relay.Replay sends it once more, it
	// is the name of the replay, which differs for each run. A sink whose destination drops
	// repeats must include Topic, ID, Seq, CreatedAt and Replay in the identity that it
	// deduplicates by: records that differ in one of them are not repeats of each other.
	Replay string
}
