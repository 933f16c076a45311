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

// Change is the kind of change of a partition.
type Change string

const (
	// Assigned means that this member reads the partition from now on.
	Assigned Change = "assigned"
	// Released means that it was given up in order, in a rebalance or by Close.
	Released Change = "released"
	// Lost means that it was given up without a commit.
	Lost Change = "lost"
)

// PartitionEvent is a partition that was assigned or given up.
type PartitionEvent struct {
	Group, Topic string
	Partition    int32
	Change       Change
	// Next is the offset at which reading begins, or that the group goes on from.
	Next int64
	// Deleted is how many offsets from the group's own up to Next the broker has
	// deleted before they were read, as retention does. It is set with Assigned.
	Deleted int64
}
