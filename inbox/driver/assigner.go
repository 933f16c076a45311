package driver

import "context"

// Assignment is a partition of a log that a session is about to read, with what
// the log says of itself at that time.
type Assignment struct {
	// Source and Topic are those of the Positions that will follow.
	Source, Topic string
	// Partition is the number of the partition, from 0.
	Partition int32
	// Start is the offset of the oldest message that the log still has, End the one
	// after its newest: the high watermark of Kafka. They are equal if the log is
	// empty.
	Start, End int64
	// From is the offset at which to begin if nothing is remembered of the
	// partition: the one that the group has committed, or else Start or End, as the
	// consumer's policy for a new group has it.
	From int64
}

// Assigner is an inbox that remembers positions instead of ids. A subscriber asks
// it where to read on whenever it is given partitions, before it reads them.
type Assigner interface {
	// Assigned returns the offset at which each of parts is to be read on, in
	// their order. The first message of the session has that offset less one as
	// its Position's Prev. An error means that none of them may be read.
	//
	// It is safe for concurrent use, and does not wait for handlers that another
	// session still runs: it returns ErrBusy if it would have to.
	Assigned(ctx context.Context, parts []Assignment) ([]int64, error)
}
