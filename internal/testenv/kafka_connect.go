package testenv

import (
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// fakeClusterID marks our in-process clusters, so that a test that is handed the
// address of one knows that it is not real.
const fakeClusterID = "leat-kfake"

// kafkaCluster is what a cluster says about itself.
type kafkaCluster struct {
	version string
	cluster string
}

// inspectKafka connects, with opts where it takes more than an address, and asks the
// cluster who it is.
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
