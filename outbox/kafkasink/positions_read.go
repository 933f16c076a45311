package kafkasink

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// firstTail is how far before the end of the partition the search for the position begins,
	// and tailGrowth is the factor by which that grows.
	firstTail  = 64
	tailGrowth = 16

	fetchWaitMillis = 500
	fetchBytes      = 8 << 20
)

// last returns the newest committed record of the slot's partition, nil if there is none. It
// searches from the end, since a topic that is rarely compacted can hold very many.
func (l *txLane) last(ctx context.Context, within offsets) (*storedPosition, error) {
	for tail := int64(firstTail); ; tail *= tailGrowth {
		from := max(within.end-tail, within.start)
		found, err := l.scan(ctx, offsets{from, within.end})
		if err != nil || found != nil || from == within.start {
			return found, err
		}
	}
}

// scan reads all committed records of a range of the partition and returns the last.
func (l *txLane) scan(ctx context.Context, within offsets) (*storedPosition, error) {
	var found *storedPosition
	for at := within.start; at < within.end; {
		records, next, err := l.fetch(ctx, at)
		if err != nil {
			return nil, fmt.Errorf("read topic %q: %w", l.cfg.PositionTopic, needs(err, "READ", l.cfg.PositionTopic))
		}
		for _, r := range records {
			if found, err = l.readPosition(r); err != nil {
				return nil, err
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		at = max(at, next)
	}
	return found, nil
}

// fetch reads committed records from offset at, and returns where to continue. A consumer group
// would not show when it has reached the end, after aborted records and transaction markers.
func (l *txLane) fetch(ctx context.Context, at int64) (records []*kgo.Record, next int64, err error) {
	topics, err := kadm.NewClient(l.sink.client).ListTopics(ctx, l.cfg.PositionTopic)
	if err != nil {
		return nil, 0, err
	}
	topic := topics[l.cfg.PositionTopic]
	if topic.Err != nil {
		return nil, 0, topic.Err
	}
	leader := topic.Partitions[l.partition]
	if leader.Err != nil {
		return nil, 0, leader.Err
	}
	answer, err := l.sink.client.Broker(int(leader.Leader)).Request(ctx, l.fetchRequest(topic.ID, at))
	if err != nil {
		return nil, 0, err
	}
	resp, ok := answer.(*kmsg.FetchResponse)
	if !ok || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return nil, 0, errNoAnswer
	}
	page, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Offset: at, IsolationLevel: kgo.ReadCommitted(), Topic: l.cfg.PositionTopic, Partition: l.partition,
	}, &resp.Topics[0].Partitions[0], kgo.DefaultDecompressor(), nil)
	return page.Records, next, page.Err
}

func (l *txLane) fetchRequest(topicID [16]byte, at int64) *kmsg.FetchRequest {
	const readCommitted = 1
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.Partition, partition.FetchOffset, partition.PartitionMaxBytes = l.partition, at, fetchBytes
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = l.cfg.PositionTopic, topicID
	topic.Partitions = append(topic.Partitions, partition)
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = fetchWaitMillis, 1, fetchBytes
	req.IsolationLevel = readCommitted
	req.SessionEpoch = -1
	req.Topics = append(req.Topics, topic)
	return req
}
