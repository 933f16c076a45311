package testenv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/wait"
)

// kafkaPrefix starts the name of every topic and group that we make.
const kafkaPrefix = "leat-test-"

// newKafkaPrefix is a fresh start of names of topics and groups.
func newKafkaPrefix() string {
	return kafkaPrefix + strings.ReplaceAll(uniqueName(), "_", "-") + "-"
}

// KafkaName returns a name for a topic or a consumer group that no other run has:
// leat-test-<unique>-<name>, the same each time. Close deletes what got such a
// name.
func (e *Env) KafkaName(name string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.kafkaPrefix == "" {
		e.kafkaPrefix = newKafkaPrefix()
	}

	return e.kafkaPrefix + name
}

// CreateTopic creates a topic and returns its name, KafkaName(name), once every
// partition can be written. Partitions must be positive. Close deletes the topic.
func (e *Env) CreateTopic(ctx context.Context, name string, partitions int) (topic string, err error) {
	service, err := e.service(ctx, KindKafka)
	if err != nil {
		return "", err
	}
	topic = e.KafkaName(name)

	return topic, createTopic(ctx, service.brokers(), topic, partitions)
}

// dropTopics deletes what was created under names of [Env.KafkaName].
func (e *Env) dropTopics(ctx context.Context) error {
	e.mu.Lock()
	prefix := e.kafkaPrefix
	e.kafkaPrefix = ""
	e.mu.Unlock()

	for _, s := range e.Services() {
		if s.Kind == KindKafka && prefix != "" {
			return clearKafka(ctx, s.brokers(), prefix)
		}
	}

	return nil
}

// connectAdmin returns a client that does not keep what it knows of topics for
// long. The caller must close it.
func connectAdmin(brokers []string) (*kadm.Client, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.MetadataMinAge(50*time.Millisecond))
	if err != nil {
		return nil, fmt.Errorf("testenv: Kafka at %s: %w", strings.Join(brokers, ","), err)
	}

	return kadm.NewClient(client), nil
}

// createTopic creates a topic and waits until its partitions can be written: their
// leaders tell where they end.
func createTopic(ctx context.Context, brokers []string, topic string, partitions int) error {
	if partitions <= 0 || partitions > 1000 {
		return fmt.Errorf("testenv: topic %s: %d partitions, want 1 to 1000", topic, partitions)
	}
	admin, err := connectAdmin(brokers)
	if err != nil {
		return err
	}
	defer admin.Close()
	created, err := admin.CreateTopic(ctx, int32(partitions), 1, nil, topic)
	if err := errors.Join(err, created.Err); err != nil {
		return fmt.Errorf("testenv: create topic %s: %w", topic, err)
	}
	for {
		ends, err := admin.ListEndOffsets(ctx, topic)
		if err = errors.Join(err, ends.Error()); err == nil && len(ends[topic]) == partitions {
			return nil
		}
		if late := wait.For(ctx, 10*time.Millisecond); late != nil {
			return fmt.Errorf("testenv: topic %s cannot be written: %w", topic, errors.Join(late, err))
		}
	}
}

// clearKafka deletes the topics and groups whose names start with prefix, those
// created by use too. Groups that still have members die with their topics.
func clearKafka(ctx context.Context, brokers []string, prefix string) error {
	admin, err := connectAdmin(brokers)
	if err != nil {
		return err
	}
	defer admin.Close()
	topics, err := admin.ListTopics(ctx)
	if err != nil {
		return fmt.Errorf("testenv: list topics: %w", err)
	}
	if names := startingWith(prefix, topics.Names()); len(names) > 0 {
		responses, err := admin.DeleteTopics(ctx, names...)
		if err == nil {
			err = responses.Error()
		}
		if err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
			return fmt.Errorf("testenv: delete topics: %w", err)
		}
	}
	groups, err := admin.ListGroups(ctx)
	if err != nil {
		return fmt.Errorf("testenv: list groups: %w", err)
	}
	if names := startingWith(prefix, groups.Groups()); len(names) > 0 {
		// A group with members cannot be deleted; without topics it expires.
		_, _ = admin.DeleteGroups(ctx, names...)
	}

	return nil
}

func startingWith(prefix string, names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) })
}
