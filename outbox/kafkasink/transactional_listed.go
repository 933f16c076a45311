package kafkasink

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// listedPause is the wait between two checks whether a client lists a topic.
const listedPause = time.Millisecond

// notListed is the leader of a partition that a client does not list. The error that comes with
// it may be from an earlier attempt to look the topic up. Partitions that are listed without a
// leader have another number.
const notListed = -1

// leaders is the part of a client that returns the leader of a partition.
type leaders interface {
	PartitionLeader(topic string, partition int32) (leader, epoch int32, err error)
}

var _ leaders = (*kgo.Client)(nil)

// listed waits until client lists the partitions of all records, which it has already delivered.
//
// A client that has just learned of a topic places the records that waited for it before it lists
// the topic's partitions. The end of a transaction resets the sequence numbers of the listed
// partitions, and marks them as not in a transaction. If the transaction ended in between, the
// next one would go on with the old numbers. A cluster with new epochs for each transaction
// (KIP-890) refuses those as out of order, and an older one would not learn that the partition
// takes part.
func listed(ctx context.Context, client leaders, records []kgo.Record) error {
	var tick <-chan time.Time
	for i := range records {
		for r := &records[i]; ; {
			if leader, _, _ := client.PartitionLeader(r.Topic, r.Partition); leader != notListed {
				break
			}
			if tick == nil {
				ticker := time.NewTicker(listedPause)
				defer ticker.Stop()
				tick = ticker.C
			}
			select {
			case <-tick:
			case <-ctx.Done():
				return fmt.Errorf("the client does not list partition %d of topic %q, to which it has delivered: %w",
					r.Partition, r.Topic, context.Cause(ctx))
			}
		}
	}
	return nil
}
