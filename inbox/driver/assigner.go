package driver

import "context"

// Assignment is a partition of a log that a session is about to read, with the state of the log
// at that time.
type Assignment struct {
	// Source and Topic are the source and the topic of the Positions that follow.
	Source, Topic string
	// Partition is the number of the partition, from 0.
	Partition int32
	// Start is the offset of the oldest message that the log still has, End the one
	// after its newest: the high watermark of Kafka. They are equal if the log is
	// empty.
	Start, End int64
	// From is the offset at which to begin if the inbox does not remember the partition: the
	// offset that the group has committed, or else Start or End, by the consumer's policy for a
	// new group.
	From int64
}

// Assigner is an inbox that remembers positions instead of ids. A subscriber asks it where to
// continue whenever it is assigned partitions, before it reads them.
type Assigner interface {
	// Assigned returns the offsets at which to continue reading parts, in their order. The first
	// message of the session has that offset less one as its Position's Prev. An error means that
	// none of them may be read.
	//
	// It is safe for concurrent use, and does not wait for handlers that another
	// session still runs: it returns ErrBusy if it would have to.
	Assigned(ctx context.Context, parts []Assignment) ([]int64, error)
}
