package kafkasource

import (
	"context"
	"time"
)

// DeliveryHook sees how every delivery ended.
type DeliveryHook interface {
	// OnKafkasourceDelivery is called once a delivery to a handler, batches included, a
	// message at a time. The context may have ended.
	OnKafkasourceDelivery(ctx context.Context, e DeliveryEvent)
}

// PartitionHook sees partitions come and go.
type PartitionHook interface {
	// OnKafkasourcePartition is called when a partition was assigned, before anything is
	// read from it, and when it was given up, after the last commit.
	OnKafkasourcePartition(ctx context.Context, e PartitionEvent)
}

// Outcome is how a delivery ended.
type Outcome string

const (
	// OutcomeAcked means that the message was acknowledged.
	OutcomeAcked Outcome = "acked"
	// OutcomeNacked means that it is to be delivered again.
	OutcomeNacked Outcome = "nacked"
	// OutcomeMalformed means that it could not be unmarshalled.
	OutcomeMalformed Outcome = "malformed"
	// OutcomeAbandoned means that its context ended first. Whoever has the partition
	// next delivers it again.
	OutcomeAbandoned Outcome = "abandoned"
)

// DeliveryEvent is a delivery that has ended.
type DeliveryEvent struct {
	Group, Topic string
	Partition    int32
	Offset       int64
	// Attempt counts the deliveries of the message in this session, from 1.
	Attempt int
	// Outcome is how it ended.
	Outcome Outcome
	// Took is the time that the handler had it.
	Took time.Duration
}

// PartitionEvent is a partition that was assigned or given up.
type PartitionEvent struct {
	Group, Topic string
	Partition    int32
	// Assigned is set if this member reads the partition from now on. Otherwise it was given
	// up: without a commit if Lost is set, else in order, in a rebalance or by Close.
	Assigned, Lost bool
	// Next is the offset at which reading begins, or that the group goes on from.
	Next int64
	// Deleted is how many offsets from the group's own up to Next the broker has
	// deleted before they were read, as retention does. It is set with Assigned.
	Deleted int64
}
