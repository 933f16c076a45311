package testenv

import (
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kfake"
)

// startKfake plays Kafka in this process.
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
