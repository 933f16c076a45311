package kafkasink

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/leat-go/leat/outbox/driver"
)

const (
	cleanupPolicyConfig = "cleanup.policy"
	compact             = "compact"
)

// errNoPartition is wrapped by errors of Transactional.Fence if the topic of
// positions, or the slot's partition of it, is missing or has no leader yet.
var errNoPartition = errors.New("leat: topic of positions has no such partition")

// ensureTopic makes sure that the slot has its partition in a topic that is only compacted, and
// learns the largest record that it takes.
func (l *txLane) ensureTopic(ctx context.Context) error {
	pause := time.NewTicker(lookupPause)
	defer pause.Stop()
	for {
		ready, err := l.preparePartition(ctx)
		if err != nil {
			return err
		}
		if ready {
			break
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %d of %q: %w", errNoPartition, l.partition, l.cfg.PositionTopic, context.Cause(ctx))
		}
	}
	if err := l.requireCompaction(ctx); err != nil {
		return err
	}
	l.sink.learn(ctx, []string{l.cfg.PositionTopic})
	return l.sink.topics.get(l.cfg.PositionTopic).err
}

// preparePartition reports whether the slot's partition has a leader, and creates it if it is
// missing and the configuration allows that.
func (l *txLane) preparePartition(ctx context.Context) (bool, error) {
	admin, name := kadm.NewClient(l.sink.client), l.cfg.PositionTopic
	topics, err := admin.ListTopics(ctx, name)
	if err != nil {
		return false, fmt.Errorf("look up topic %q: %w", name, err)
	}
	topic := topics[name]
	missing := errors.Is(topic.Err, kerr.UnknownTopicOrPartition)
	if topic.Err != nil && !missing && !kerr.IsRetriable(topic.Err) {
		return false, fmt.Errorf("topic %q: %w", name, needs(topic.Err, "READ and WRITE", name))
	}
	if p, ok := topic.Partitions[l.partition]; ok && topic.Err == nil {
		return p.Err == nil && p.Leader >= 0, nil
	}
	if topic.Err != nil && !missing {
		return false, nil
	}
	if !l.cfg.CreatePositionTopic {
		return false, fmt.Errorf("%w: %d of %q, and the sink is not told to create it", errNoPartition, l.partition, name)
	}
	if missing {
		err = l.createTopic(ctx, admin)
	} else {
		err = l.createPartitions(ctx, admin)
	}
	return false, err
}

func (l *txLane) createTopic(ctx context.Context, admin *kadm.Client) error {
	policy := compact
	_, err := admin.CreateTopic(ctx, l.partition+1, l.cfg.PositionReplicas, map[string]*string{cleanupPolicyConfig: &policy}, l.cfg.PositionTopic)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return fmt.Errorf("create topic %q: %w", l.cfg.PositionTopic, needs(err, "CREATE", l.cfg.PositionTopic))
	}
	return nil
}

func (l *txLane) createPartitions(ctx context.Context, admin *kadm.Client) error {
	name := l.cfg.PositionTopic
	responses, err := admin.UpdatePartitions(ctx, int(l.partition)+1, name)
	if err == nil {
		_, err = responses.On(name, nil)
	}
	if err == nil {
		err = responses.Error()
	}
	// Another slot may have been faster, which the next look shows.
	if err != nil && !errors.Is(err, kerr.InvalidPartitions) && !errors.Is(err, kerr.ReassignmentInProgress) {
		return fmt.Errorf("create partition %d of topic %q: %w", l.partition, name, needs(err, "ALTER", name))
	}
	return nil
}

// requireCompaction refuses a topic whose policy would delete the position of an idle slot.
func (l *txLane) requireCompaction(ctx context.Context) error {
	name := l.cfg.PositionTopic
	described, err := kadm.NewClient(l.sink.client).DescribeTopicConfigs(ctx, name)
	var found kadm.ResourceConfig
	if err == nil {
		found, err = described.On(name, nil)
	}
	if err == nil {
		err = found.Err
	}
	if err != nil {
		return fmt.Errorf("configuration of topic %q: %w", name, needs(err, "DESCRIBE_CONFIGS", name))
	}
	for i := range found.Configs {
		if found.Configs[i].Key != cleanupPolicyConfig {
			continue
		}
		if policy := found.Configs[i].MaybeValue(); policy != compact {
			return fmt.Errorf("%w: topic %q has %s=%s, must be %s", driver.ErrSourceUnusable, name, cleanupPolicyConfig, policy, compact)
		}
		return nil
	}
	return fmt.Errorf("configuration of topic %q: %w", name, errNoAnswer)
}
