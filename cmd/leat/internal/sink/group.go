package sink

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
)

// Group is a consumer group of a cluster.
type Group struct {
	name   string
	client *kgo.Client
	admin  *kadm.Client
}

// GroupPartition is a partition from the view of a group. Committed is -1 if the group has not committed an
// offset. Source is the topic's id, empty if the cluster has no topic ids.
type GroupPartition struct {
	Topic, Source         string
	Partition             int32
	Committed, Start, End int64
}

// OpenGroup opens a group of the cluster that s names. The caller must close it.
func OpenGroup(s settings.Kafka, name string) (*Group, error) {
	options, err := Options(s)
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(settings.List(s.Brokers.Value)...), kgo.ClientID("leat"))...)
	if err != nil {
		return nil, err
	}
	return &Group{name: name, client: client, admin: kadm.NewClient(client)}, nil
}

// Close ends its connections.
func (g *Group) Close() { g.client.Close() }

// Partitions returns the partitions of topics, in order. Without topics it returns those of all topics that
// the group has offsets of.
func (g *Group) Partitions(ctx context.Context, topics []string) ([]GroupPartition, error) {
	committed, err := g.admin.FetchOffsets(ctx, g.name)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return nil, err
	}
	if len(topics) == 0 {
		topics = slices.Sorted(maps.Keys(committed.Offsets()))
	}
	if len(topics) == 0 {
		return nil, nil
	}
	details, err := g.admin.ListTopics(ctx, topics...)
	if err = errors.Join(err, details.Error()); err != nil {
		return nil, err
	}
	starts, err1 := g.admin.ListStartOffsets(ctx, topics...)
	ends, err2 := g.admin.ListEndOffsets(ctx, topics...)
	if err := errors.Join(err1, err2, starts.Error(), ends.Error()); err != nil {
		return nil, err
	}
	var all []GroupPartition
	for _, topic := range details.Sorted() {
		for _, p := range topic.Partitions.Sorted() {
			start, _ := starts.Lookup(topic.Topic, p.Partition)
			end, _ := ends.Lookup(topic.Topic, p.Partition)
			part := GroupPartition{Topic: topic.Topic, Source: source(topic.ID), Partition: p.Partition, Committed: -1, Start: start.Offset, End: end.Offset}
			if o, ok := committed.Lookup(topic.Topic, p.Partition); ok && o.At >= 0 {
				part.Committed = o.At
			}
			all = append(all, part)
		}
	}
	return all, nil
}

// source returns a topic's id in the form that inboxes store.
func source(id kadm.TopicID) string {
	if id == (kadm.TopicID{}) {
		return ""
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// At returns a function that returns the offset of a partition's first message at or after the time at, if
// there is one.
func (g *Group) At(ctx context.Context, at time.Time, topics []string) (func(topic string, partition int32) (int64, bool), error) {
	listed, err := g.admin.ListOffsetsAfterMilli(ctx, at.UnixMilli(), topics...)
	if err = errors.Join(err, listed.Error()); err != nil {
		return nil, err
	}
	return func(topic string, partition int32) (int64, bool) {
		o, ok := listed.Lookup(topic, partition)
		return o.Offset, ok && o.Offset >= 0
	}, nil
}

// Members is the number of members of the group.
func (g *Group) Members(ctx context.Context) (int, error) {
	groups, err := g.admin.DescribeGroups(ctx, g.name)
	if err == nil {
		err = groups.Error()
	}
	return len(groups[g.name].Members), err
}

// Commit sets the group's offsets to the field Committed of each partition.
func (g *Group) Commit(ctx context.Context, parts []GroupPartition) error {
	offsets := kadm.Offsets{}
	for _, p := range parts {
		offsets.Add(kadm.Offset{Topic: p.Topic, Partition: p.Partition, At: p.Committed, LeaderEpoch: -1})
	}
	return g.admin.CommitAllOffsets(ctx, g.name, offsets)
}
