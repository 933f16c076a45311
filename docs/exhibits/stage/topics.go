package stage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
)

const cleanupTimeout = 30 * time.Second

// Name returns a name for a topic or a consumer group that no other run uses.
func (s *Stage) Name(name string) string { return s.prefix + name }

// CreateTopic creates a topic for this run, waits until it can be written, and
// returns its full name.
func (s *Stage) CreateTopic(ctx context.Context, name string, partitions int32) (string, error) {
	topic := s.Name(name)
	created, err := s.kafka.CreateTopic(ctx, partitions, 1, nil, topic)
	if err := errors.Join(err, created.Err); err != nil {
		return "", fmt.Errorf("create topic %s: %w", topic, err)
	}
	err = Until(ctx, func(ctx context.Context) (bool, error) {
		ends, err := s.kafka.ListEndOffsets(ctx, topic)
		return err == nil && ends.Error() == nil && len(ends[topic]) == int(partitions), nil
	})
	return topic, err
}

// Joined waits until a consumer group has so many members and gives no partition
// away any more.
func (s *Stage) Joined(ctx context.Context, group string, members int) error {
	err := Until(ctx, func(ctx context.Context) (bool, error) {
		groups, err := s.kafka.DescribeGroups(ctx, group)
		if err != nil {
			return false, nil //nolint:nilerr // a group that nobody has joined yet
		}
		g := groups[group]
		return g.Err == nil && g.State == "Stable" && len(g.Members) == members, nil
	})
	if err != nil {
		return fmt.Errorf("group %s: %w", group, err)
	}
	return nil
}

// Read returns the ids of what topic holds.
func (s *Stage) Read(ctx context.Context, topic string) ([]string, error) {
	ends, err := s.kafka.ListEndOffsets(ctx, topic)
	if err := errors.Join(err, ends.Error()); err != nil {
		return nil, fmt.Errorf("end of topic %s: %w", topic, err)
	}
	var n int64
	ends.Each(func(o kadm.ListedOffset) { n += o.Offset })
	client, err := kgo.NewClient(
		kgo.SeedBrokers(s.Brokers...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
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

func (s *Stage) deleteTopics(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
	defer cancel()
	topics, err := s.kafka.ListTopics(ctx)
	if err != nil {
		return fmt.Errorf("list topics: %w", err)
	}
	names := slices.DeleteFunc(topics.Names(), func(name string) bool { return !strings.HasPrefix(name, s.prefix) })
	if len(names) == 0 {
		return nil
	}
	responses, err := s.kafka.DeleteTopics(ctx, names...)
	if err != nil {
		return fmt.Errorf("delete topics: %w", err)
	}
	return responses.Error()
}
