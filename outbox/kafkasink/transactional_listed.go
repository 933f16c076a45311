package kafkasink

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// listedPause is the wait between two looks whether a client lists a topic.
const listedPause = time.Millisecond

// notListed is the leader of a partition that a client does not list. The error beside it may
// be that of an earlier attempt to learn of the topic. Partitions that are listed without
// a leader have another number.
const notListed = -1

// leaders is the part of a client that tells who leads a partition.
type leaders interface {
	PartitionLeader(topic string, partition int32) (leader, epoch int32, err error)
}

var _ leaders = (*kgo.Client)(nil)

// listed waits until client lists the partitions of all records, which it has delivered.
//
// A client that has just learned of a topic places the records that waited for it
// before it lists the topic's partitions. The end of a transaction starts the numbers of
// the listed ones afresh, and notes that they are in no transaction any more. If it were
// asked in between, the next transaction would go on with the old numbers, which a
// cluster with new epochs for each transaction (KIP-890) refuses as out of order; older
// ones would not be told that the partition takes part.
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
