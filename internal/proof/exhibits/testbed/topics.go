package testbed

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
)

// Name returns a name for a topic or a consumer group that no other run uses.
func (bed *Testbed) Name(name string) string { return bed.env.KafkaName(name) }

// CreateTopic creates a topic for this run, waits until it is writable, and returns its full name.
func (bed *Testbed) CreateTopic(ctx context.Context, name string, partitions int) (string, error) {
	return bed.env.CreateTopic(ctx, name, partitions)
}

// Joined waits until a consumer group is stable and has the given number of members.
func (bed *Testbed) Joined(ctx context.Context, group string, members int) error {
	err := Until(ctx, func(ctx context.Context) (bool, error) {
		groups, err := bed.kafka.DescribeGroups(ctx, group)
		if err != nil {
			return false, nil //nolint:nilerr // a group without members yet
		}
		g := groups[group]
		return g.Err == nil && g.State == "Stable" && len(g.Members) == members, nil
	})
	if err != nil {
		return fmt.Errorf("group %s: %w", group, err)
	}
	return nil
}

// Read returns the ids of the messages in topic.
func (bed *Testbed) Read(ctx context.Context, topic string) ([]string, error) {
	ends, err := bed.kafka.ListEndOffsets(ctx, topic)
	if err := errors.Join(err, ends.Error()); err != nil {
		return nil, fmt.Errorf("end of topic %s: %w", topic, err)
	}
	var n int64
	ends.Each(func(o kadm.ListedOffset) { n += o.Offset })
	client, err := kgo.NewClient(
		kgo.SeedBrokers(bed.Brokers...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var ids []string
	for int64(len(ids)) < n {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return nil, fmt.Errorf("read topic %s: %w", topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) { ids = append(ids, idOf(r)) })
	}
	return ids, nil
}

// idOf returns the id of a Watermill message.
func idOf(r *kgo.Record) string {
	for _, h := range r.Headers {
		if h.Key == outbox.HeaderWatermillUUID {
			return string(h.Value)
		}
	}
	return ""
}
