package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// headerID is the header of an event's id, as it stands in Kafka.
const headerID = "event-id"

// partitions of each topic.
const partitions = 8

func headerOf(r *kgo.Record, name string) string {
	for _, h := range r.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}

// endOffsets returns where each partition of topic ends.
func endOffsets(ctx context.Context, client *kgo.Client, topic string) (map[int32]int64, error) {
	listed, err := kadm.NewClient(client).ListEndOffsets(ctx, topic)
	if err := errors.Join(err, listed.Error()); err != nil {
		return nil, fmt.Errorf("end of topic %s: %w", topic, err)
	}
	ends := map[int32]int64{}
	listed.Each(func(o kadm.ListedOffset) { ends[o.Partition] = o.Offset })
	return ends, nil
}

// consumed returns how many records of topic group has acknowledged, and how many
// there are.
func consumed(ctx context.Context, client *kgo.Client, group, topic string) (acked, total int64, err error) {
	ends, err := endOffsets(ctx, client, topic)
	if err != nil {
		return 0, 0, err
	}
	committed, err := kadm.NewClient(client).FetchOffsets(ctx, group)
	if err == nil {
		err = committed.Error()
	}
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return 0, 0, fmt.Errorf("offsets of group %s: %w", group, err)
	}
	for partition, end := range ends {
		total += end
		if o, ok := committed.Lookup(topic, partition); ok {
			acked += max(o.At, 0)
		}
	}
	return acked, total, nil
}

// rewind makes group, which has no members left, start over.
func rewind(ctx context.Context, client *kgo.Client, group, topic string) error {
	admin := kadm.NewClient(client)
	var start kadm.Offsets
	for p := range int32(partitions) {
		start.AddOffset(topic, p, 0, -1)
	}
	for {
		committed, err := admin.CommitOffsets(ctx, group, start)
		if err == nil {
			err = committed.Error()
		}
		if err == nil {
			return nil
		}
		// The coordinator may still list a member that has just left.
		if !wait(ctx, 100*time.Millisecond) {
			return fmt.Errorf("rewind group %s: %w", group, errors.Join(ctx.Err(), err))
		}
	}
}
