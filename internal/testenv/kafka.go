package testenv

import (
	"context"
	"testing"
)

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
	env := &KafkaEnv{
		Brokers: service.brokers(),
		Real:    service.Real,
		Prefix:  newKafkaPrefix(),
		Version: service.Version,
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
		defer cancel()
		if err := clearKafka(ctx, env.Brokers, env.Prefix); err != nil {
			tb.Errorf("delete the test's topics: %v", err)
		}
	})

	return env
}

// Topic creates a topic called Prefix+name and returns that name, once every
// partition can be written. Partitions must be positive.
func (k *KafkaEnv) Topic(tb testing.TB, name string, partitions int) string {
	tb.Helper()
	topic := k.Prefix + name
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	if err := createTopic(ctx, k.Brokers, topic, partitions); err != nil {
		tb.Fatal(err)
	}

	return topic
}

// Name returns Prefix+name, for topics that are created by use and for groups.
func (k *KafkaEnv) Name(name string) string { return k.Prefix + name }
