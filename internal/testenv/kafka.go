package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/wait"
)

// defaultPartitions is the number of partitions of a topic that is created by its first use, on the
// brokers that we start.
const defaultPartitions = 8

// KafkaEnv is a test's own part of a Kafka cluster: topics and consumer groups
// whose names start with Prefix, deleted when the test ends.
type KafkaEnv struct {
	// Brokers are the seed addresses.
	Brokers []string
	// Real is false on the in-process kfake.
	Real bool
	// Prefix is the prefix of the names of the test's topics and groups.
	Prefix string
	// Version is the broker's version.
	Version string
}

// Kafka returns a part of the shared cluster. The cluster is real if possible.
func Kafka(tb testing.TB) *KafkaEnv {
	tb.Helper()

	return newKafkaEnv(tb, use(tb, KindKafka))
}

// RealKafka is [Kafka] for tests that need a real broker. If there is none the test is skipped; in CI it
// fails.
func RealKafka(tb testing.TB) *KafkaEnv {
	tb.Helper()
	service := use(tb, KindKafka)
	if !service.Real {
		tb.Skipf("needs a real Kafka broker, this run has an %s", service.Origin)
	}

	return newKafkaEnv(tb, service)
}

// Fake starts an in-process cluster for the test alone. It stops when the test ends.
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

// Name returns Prefix+name, for groups and for topics that are created by their first use.
func (k *KafkaEnv) Name(name string) string { return k.Prefix + name }

// fakeClusterID marks our in-process clusters, so that a test that gets the address of one can tell that
// it is not real.
const fakeClusterID = "leat-kfake"

// kafkaCluster is a cluster's description of itself.
type kafkaCluster struct {
	version string
	cluster string
}

// inspectKafka connects, with opts if more than an address is needed, and asks the cluster for its
// description.
func inspectKafka(ctx context.Context, brokers []string, opts ...kgo.Opt) (kafkaCluster, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()

	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(brokers...), kgo.RequestRetries(0))...)
	if err != nil {
		return kafkaCluster{}, fmt.Errorf("testenv: Kafka at %s: %w", strings.Join(brokers, ","), err)
	}
	defer client.Close()

	admin := kadm.NewClient(client)
	metadata, err := admin.BrokerMetadata(ctx)
	if err != nil {
		return kafkaCluster{}, fmt.Errorf("testenv: Kafka at %s: %w", strings.Join(brokers, ","), err)
	}
	if len(metadata.Brokers) == 0 {
		return kafkaCluster{}, fmt.Errorf("%w: Kafka at %s has no broker", ErrUnavailable, strings.Join(brokers, ","))
	}
	versions, err := admin.ApiVersions(ctx)
	if err != nil {
		return kafkaCluster{}, fmt.Errorf("testenv: Kafka at %s: %w", strings.Join(brokers, ","), err)
	}
	found := kafkaCluster{cluster: metadata.Cluster}
	for broker, v := range versions {
		if v.Err != nil {
			return kafkaCluster{}, fmt.Errorf("testenv: versions of Kafka's broker %d: %w", broker, v.Err)
		}
		found.version = strings.TrimPrefix(v.VersionGuess(), "v")
	}

	return found, nil
}

// startKfake starts kfake, the substitute for Kafka, in this process.
func startKfake(reason string) (Service, error) {
	if inCI() {
		return Service{}, fmt.Errorf("%w: CI needs a real Kafka: %s", ErrUnavailable, reason)
	}

	return newKfake(reason)
}

func newKfake(reason string) (Service, error) {
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.ClusterID(fakeClusterID),
		kfake.AllowAutoTopicCreation(),
		kfake.DefaultNumPartitions(defaultPartitions),
	)
	if err != nil {
		return Service{}, fmt.Errorf("testenv: kfake: %w", err)
	}

	return Service{
		Kind:    KindKafka,
		Address: strings.Join(cluster.ListenAddrs(), ","),
		Version: "kfake",
		Origin:  "in-process substitute (" + reason + ")",
		stop:    func(context.Context) error { cluster.Close(); return nil },
	}, nil
}

// KafkaServer is a real broker that only one test uses, which can stop, kill and restart it. It is removed
// when the test ends. Its methods fail the test on errors, so call them from the test's goroutine.
type KafkaServer struct {
	private

	// Brokers is the broker's address. It stays the same across restarts.
	Brokers []string
}

// PrivateKafka starts a broker for the test alone. It takes some five seconds. Without Java the test is
// skipped; in CI it fails.
func PrivateKafka(tb testing.TB) *KafkaServer {
	tb.Helper()
	s := startPrivate(tb, "a real Kafka broker", OwnKafka)

	return &KafkaServer{private: s, Brokers: []string{s.own.Address}}
}

// Stop asks the broker to shut down and waits until it has exited.
func (s *KafkaServer) Stop() {
	s.tb.Helper()
	s.end(syscall.SIGTERM)
}

// Kill ends the broker with SIGKILL and waits until it has exited.
func (s *KafkaServer) Kill() {
	s.tb.Helper()
	s.end(syscall.SIGKILL)
}

// errExited is returned when a server ends before its first answer.
var errExited = errors.New("testenv: the server exited")

// resolveKafka tries the sources of Kafka in order.
func resolveKafka(ctx context.Context) (Service, error) {
	address := os.Getenv(EnvKafka)
	switch {
	case address == fake:
		return startKfake("asked for in " + EnvKafka)
	case address != "":
		return kafkaAt(ctx, address, "address in "+EnvKafka)
	}
	if s, ok := kafkaRunning(ctx); ok {
		return s, nil
	}
	s, _, err := startKafka(ctx, sharedBroker())
	if errors.Is(err, ErrUnavailable) && !inCI() {
		return startKfake(firstLine(err))
	}

	return s, err
}

// kafkaRunning returns the broker of the detached set, or else a real broker on the standard port of this
// machine.
func kafkaRunning(ctx context.Context) (Service, bool) {
	if s, ok := detached(ctx, KindKafka); ok {
		if s, err := kafkaAt(ctx, s.Address, "detached set"); err == nil {
			return s, true
		}
	}
	s, err := kafkaAt(ctx, "127.0.0.1:9092", "already running on the standard port")

	return s, err == nil
}

// kafkaAt describes the cluster at an address.
func kafkaAt(ctx context.Context, address, origin string) (Service, error) {
	found, err := inspectKafka(ctx, strings.Split(address, ","))
	if err != nil {
		return Service{}, err
	}
	isReal := found.cluster != fakeClusterID
	if !isReal && inCI() {
		return Service{}, fmt.Errorf("%w: CI needs a real Kafka, %s is kfake", ErrUnavailable, address)
	}

	return Service{Kind: KindKafka, Address: address, Version: found.version, Origin: origin, Real: isReal}, nil
}

// firstLine returns the first line of an error, for output on a single line.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")

	return strings.TrimPrefix(line, ErrUnavailable.Error()+": ")
}

// kafkaPrefix is the prefix of the names of all topics and groups that we make.
const kafkaPrefix = "leat-test-"

// newKafkaPrefix returns a new prefix for topics and groups.
func newKafkaPrefix() string {
	return kafkaPrefix + strings.ReplaceAll(uniqueName(), "_", "-") + "-"
}

// KafkaName returns a name for a topic or a consumer group that no other run uses:
// leat-test-<unique>-<name>. It returns the same name each time. Close deletes topics and groups with such
// a name.
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

// dropTopics deletes the topics and groups that were created under names of [Env.KafkaName].
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

// connectAdmin returns a client that caches the metadata of topics only briefly. The caller must close it.
func connectAdmin(brokers []string) (*kadm.Client, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.MetadataMinAge(50*time.Millisecond))
	if err != nil {
		return nil, fmt.Errorf("testenv: Kafka at %s: %w", strings.Join(brokers, ","), err)
	}

	return kadm.NewClient(client), nil
}

// createTopic creates a topic and waits until its partitions can be written. That is the case when their
// leaders report end offsets.
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

// clearKafka deletes the topics and groups whose names start with prefix, including those created by use.
// Groups that still have members disappear after their topics are deleted.
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
