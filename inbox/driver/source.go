package driver

import (
	"context"
	"time"
)

// SourceHook sees what a subscriber does.
type SourceHook interface {
	// OnDriverSource is called after each delivery to a handler, once per message even in a
	// batch; when a partition was assigned, before anything is read from it; and when it was
	// given up, after the last commit. The context may have ended.
	OnDriverSource(ctx context.Context, e SourceEvent)
}

// SourceEvent is a delivery that has ended, or a partition that was assigned or given up.
type SourceEvent struct {
	Group, Topic string
	Partition    int32

	// Kind is how a delivery ended: "acked"; "nacked" if it will be delivered again; "malformed"
	// if it could not be unmarshalled; "abandoned" if its context ended first, so that the next
	// owner of the partition delivers it again. Or it is what happened to the partition:
	// "assigned" if this member reads it from now on; "released" if it was given up in order, in
	// a rebalance or by Close; "lost" if it was given up without a commit. Package kafkasource
	// has constants.
	Kind string

	// Offset is the offset of the message, or the one at which reading of the partition begins,
	// or at which the group continues.
	Offset int64

	// Attempt counts the deliveries of the message in this session, from 1. Took is how long the
	// handler ran. Both are 0 for a partition.
	Attempt int
	Took    time.Duration

	// Deleted is how many offsets, from the group's own up to Offset, the broker has deleted
	// before they were read, for example by retention. It is set with "assigned".
	Deleted int64

	// WentBack is by how many offsets the group was ahead of the mark of the inbox's database,
	// which went back in time. It is set with "assigned".
	WentBack int64
}
