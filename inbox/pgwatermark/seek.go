package pgwatermark

import (
	"context"

	"github.com/leat-go/leat/inbox/driver"
)

// LogBounds returns what a log has of a partition: the offsets of its oldest message
// and of the one after its newest.
type LogBounds func(ctx context.Context, topic string, partition int32) (start, end int64, err error)

// Seek returns Assigned in the form of a subscriber that tells the positions at
// which it would begin and takes offsets by partition, of one topic at a time. Bounds must tell what the log has: without it nobody would notice that the log has
// lost messages.
func (in *Inbox) Seek(bounds LogBounds) func(ctx context.Context, begins []driver.Position) (map[int32]int64, error) {
	return func(ctx context.Context, begins []driver.Position) (map[int32]int64, error) {
		parts := make([]driver.Assignment, len(begins))
		for i, p := range begins {
			start, end, err := bounds(ctx, p.Topic, p.Partition)
			if err != nil {
				return nil, in.wrap("bounds of "+partitionName(p.Topic, p.Partition), err)
			}
			parts[i] = driver.Assignment{
				Source: p.Source, Topic: p.Topic, Partition: p.Partition, Start: start, End: end, From: p.Offset,
			}
		}
		next, err := in.Assigned(ctx, parts)
		if err != nil {
			return nil, err
		}
		offsets := make(map[int32]int64, len(parts))
		for i, p := range parts {
			offsets[p.Partition] = next[i]
		}
		return offsets, nil
	}
}
