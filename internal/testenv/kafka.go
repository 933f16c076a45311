package testenv

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// kafkaPrefix starts the name of every topic and group that we make.
const kafkaPrefix = "leat-test-"

// defaultPartitions is the number of partitions of a topic that is created by
// use, on the brokers that we start.
const defaultPartitions = 8

// KafkaEnv is a test's own part of a Kafka cluster: topics and consumer groups
// whose names start with Prefix, deleted when the test ends.
type KafkaEnv struct {
	// Brokers are the seed addresses.
	Brokers []string
	// Real is false on the in-process kfake.
	Real bool
	// Prefix starts the names of the test's topics and groups.
	Prefix string
	// Version is the broker's version.
	Version string

	admin *kadm.Client
}

// Kafka returns a part of the shared cluster, which is real where it can be.
func Kafka(tb testing.TB) *KafkaEnv {
	tb.Helper()

	return newKafkaEnv(tb, use(tb, KindKafka))
}

// RealKafka is [Kafka] for tests that only a real broker can serve. Where there
// is none the test is skipped, in CI it fails.
func RealKafka(tb testing.TB) *KafkaEnv {
	tb.Helper()
	service := use(tb, KindKafka)
	if !service.Real {
		tb.Skipf("needs a real Kafka broker, this run has an %s", service.Origin)
	}

	return newKafkaEnv(tb, service)
}

// Fake returns an in-process cluster of the test's own, stopped when it ends.
func Fake(tb testing.TB) *KafkaEnv {
	tb.Helper()
	service, err := newKfake("asked for by the test")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = service.stop(context.Background()) })

	return newKafkaEnv(tb, service)
}

func newKafkaEnv(tb testing.TB, service Service) *KafkaEnv {
	tb.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(service.brokers()...), kgo.MetadataMinAge(50*time.Millisecond))
	if err != nil {
		tb.Fatal(err)
	}
	env := &KafkaEnv{
		Brokers: service.brokers(),
		Real:    service.Real,
		Prefix:  kafkaPrefix + strings.ReplaceAll(uniqueName(), "_", "-") + "-",
		Version: service.Version,
		admin:   kadm.NewClient(client),
	}
	tb.Cleanup(func() {
		defer client.Close()
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
		defer cancel()
		if err := env.clear(ctx); err != nil {
			tb.Errorf("delete the test's topics: %v", err)
		}
	})

	return env
}

// Topic creates a topic called Prefix+name and returns that name, once every
// partition has a leader. Partitions must be positive.
func (k *KafkaEnv) Topic(tb testing.TB, name string, partitions int) string {
	tb.Helper()
	topic := k.Prefix + name
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	if err := createTopic(ctx, k.admin, topic, partitions); err != nil {
		tb.Fatal(err)
	}

	return topic
}

// Name returns Prefix+name, for topics that are created by use and for groups.
func (k *KafkaEnv) Name(name string) string { return k.Prefix + name }

// createTopic creates a topic and waits until its partitions can be written.
func createTopic(ctx context.Context, admin *kadm.Client, topic string, partitions int) error {
	if partitions <= 0 || partitions > 1000 {
		return fmt.Errorf("testenv: topic %s: %d partitions, want 1 to 1000", topic, partitions)
	}
	created, err := admin.CreateTopic(ctx, int32(partitions), 1, nil, topic)
	if err := errors.Join(err, created.Err); err != nil {
		return fmt.Errorf("testenv: create topic %s: %w", topic, err)
	}
	for {
		listed, err := admin.ListTopics(ctx, topic)
		if err != nil {
			return fmt.Errorf("testenv: create topic %s: %w", topic, err)
		}
		if ready(listed[topic], partitions) {
			return nil
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return fmt.Errorf("testenv: topic %s has no leaders: %w", topic, err)
		}
	}
}

// ready reports whether every partition has a leader.
func ready(topic kadm.TopicDetail, partitions int) bool {
	led := 0
	for _, p := range topic.Partitions {
		if p.Err == nil && p.Leader >= 0 {
			led++
		}
	}

	return led == partitions
}

// clear deletes the topics and groups of the prefix, those created by use too.
// Groups that still have members die with their topics.
func (k *KafkaEnv) clear(ctx context.Context) error {
	topics, err := k.admin.ListTopics(ctx)
	if err != nil {
		return fmt.Errorf("testenv: list topics: %w", err)
	}
	var names []string
	for name := range topics {
		if strings.HasPrefix(name, k.Prefix) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		responses, err := k.admin.DeleteTopics(ctx, names...)
		if err == nil {
			err = responses.Error()
		}
		if err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
			return fmt.Errorf("testenv: delete topics: %w", err)
		}
	}

	return k.clearGroups(ctx)
}

func (k *KafkaEnv) clearGroups(ctx context.Context) error {
	groups, err := k.admin.ListGroups(ctx)
	if err != nil {
		return fmt.Errorf("testenv: list groups: %w", err)
	}
	var names []string
	for _, name := range groups.Groups() {
		if strings.HasPrefix(name, k.Prefix) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		// A group with members cannot be deleted; without topics it expires.
		_, _ = k.admin.DeleteGroups(ctx, names...)
	}

	return nil
}
