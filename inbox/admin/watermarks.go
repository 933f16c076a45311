package admin

import (
	"errors"
	"fmt"

	common "github.com/leat-go/leat/outbox/admin"
)

// TopicPartition names a partition of a consumer's log.
type TopicPartition struct {
	// Topic is the topic's name.
	Topic string
	// Source is the topic's id.
	Source string
	// Partition is its number, from 0.
	Partition int32
}

func (p TopicPartition) check() error {
	if p.Partition < 0 {
		return fmt.Errorf("%w: Partition = %d: must not be negative", ErrInvalidRequest, p.Partition)
	}
	return storableTexts(field{"Topic", p.Topic}, field{"Source", p.Source})
}

// String names the partition.
func (p TopicPartition) String() string {
	return fmt.Sprintf("partition %d of topic %.200q", p.Partition, p.Topic)
}

// PartitionsQuery selects partitions.
type PartitionsQuery struct {
	// Consumer is the consumer of the partitions. Required.
	Consumer string
}

func (q *PartitionsQuery) complete() error {
	return required(field{"Consumer", q.Consumer})
}

// PartitionState is the remembered state of a partition.
type PartitionState struct {
	TopicPartition

	// Next is the offset of the message to process next.
	Next int64
	// Current is set if the source is the topic's present one.
	Current bool
}

// SetWatermarkRequest asks to continue at another offset.
type SetWatermarkRequest struct {
	By
	TopicPartition

	// Consumer is the consumer that reads the partition. Required.
	Consumer string
	// Next is the offset of the message to process next. Messages between the old
	// value and a higher one are never processed, those between a lower one and the
	// old value are processed again.
	Next int64

	// DryRun makes the call return what it would change, and change nothing.
	// Defaults to false.
	DryRun bool
}

func (r *SetWatermarkRequest) complete() error {
	err := errors.Join(common.Complete(&r.By), required(field{"Consumer", r.Consumer}), r.check())
	if r.Next < 0 {
		err = errors.Join(err, fmt.Errorf("%w: Next = %d: must not be negative", ErrInvalidRequest, r.Next))
	}
	return err
}

// RemoveWatermarkRequest asks to forget a partition.
type RemoveWatermarkRequest struct {
	By
	TopicPartition

	// Consumer is the consumer that reads the partition. Required.
	Consumer string

	// DryRun makes the call return what it would change, and change nothing.
	// Defaults to false.
	DryRun bool
}

func (r *RemoveWatermarkRequest) complete() error {
	return errors.Join(common.Complete(&r.By), required(field{"Consumer", r.Consumer}), r.check())
}

// AcceptSourceRequest asks to accept the log that a topic now is.
type AcceptSourceRequest struct {
	By

	// Consumer is the consumer that reads the topic. Required.
	Consumer string
	// Topic is the topic's name, and Source its id from now on: the one that
	// driver.ErrSourceChanged reports.
	Topic, Source string

	// DryRun makes the call return what it would change, and change nothing.
	// Defaults to false.
	DryRun bool
}

func (r *AcceptSourceRequest) complete() error {
	return errors.Join(common.Complete(&r.By), required(field{"Consumer", r.Consumer}), required(field{"Topic", r.Topic}),
		storableTexts(field{"Source", r.Source}))
}
