package driver

import "context"

// Position is where in a partitioned log a message was read. A subscriber that
// reads such a log puts it into the message's context with WithPosition; an inbox
// that remembers positions instead of ids needs it.
type Position struct {
	// Source distinguishes this log from every other, including one of the same name that was
	// created again: the topic id of Kafka, as a canonical UUID.
	Source string
	// Topic is the log's name, for operators.
	Topic string
	// Partition is the number of the partition, from 0.
	Partition int32
	// Offset is the message's place in the partition, from 0.
	Offset int64
	// Prev is the offset of the message that the session delivered before this one from the same
	// partition, whatever its outcome. Offsets may have gaps, so it need not be Offset − 1. For
	// the first message of a session it is the offset at which reading began, less one.
	Prev int64
	// Serial is set if the session delivers the messages of a partition one at a
	// time and in order, the next when this one is acknowledged.
	Serial bool
}

type positionKey struct{}

// WithPosition returns a child of ctx that carries p.
func WithPosition(ctx context.Context, p Position) context.Context {
	return context.WithValue(ctx, positionKey{}, p)
}

// PositionFrom returns the position that ctx carries, if it carries one.
func PositionFrom(ctx context.Context) (Position, bool) {
	p, ok := ctx.Value(positionKey{}).(Position)
	return p, ok
}
