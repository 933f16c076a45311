package kafkasink

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/leat-go/leat/outbox"
)

// ClusterFacts are facts about a cluster for operators to check before records are sent to it.
type ClusterFacts struct {
	// ID is the id of the cluster, "" if it does not report one.
	ID string
	// Brokers are the live brokers, ascending in ID.
	Brokers []BrokerFacts
	// Topics are in the order of the request.
	Topics []TopicFacts
}

// BrokerFacts are the facts about one broker.
type BrokerFacts struct {
	ID int32
	// Address is host:port.
	Address string
	// Rack is "" if it has none.
	Rack string
}

// TopicFacts are the facts about one topic. The value of a setting that is in Unknown is zero.
type TopicFacts struct {
	Name string
	// Err is the reason why nothing is known of the topic. It wraps outbox.ErrTopicUnavailable if there is
	// no such topic or this client may not write to it. nil if all is well.
	Err error
	// Partitions is the number of partitions, Leaderless how many of them have no leader.
	Partitions, Leaderless int
	// ReplicationFactor is the number of replicas of a partition, InSync the number of those that
	// are in sync; both are the minimum over all partitions.
	ReplicationFactor, InSync int

	// MinInSyncReplicas is min.insync.replicas.
	MinInSyncReplicas int
	// MaxMessageBytes is max.message.bytes.
	MaxMessageBytes int
	// Retention is retention.ms, negative for ever.
	Retention time.Duration
	// CleanupPolicy is cleanup.policy: delete, compact or both.
	CleanupPolicy []string
	// UncleanLeaderElection is unclean.leader.election.enable.
	UncleanLeaderElection bool
	// MaxTimestampAge is message.timestamp.before.max.ms: records with an older event time are
	// refused. Brokers before 3.6 do not know it.
	MaxTimestampAge time.Duration

	// Unknown are the settings that the cluster did not report, by Kafka's names. UnknownErr is
	// the reason, if the cluster gave one: then Unknown has all settings.
	Unknown    []string
	UnknownErr error
}

// inspectChunk is the number of topics per request.
const inspectChunk = 1000

// Inspect asks the cluster for its brokers, and for topics and their settings; it changes
// nothing, and creates no topic. It makes its own connection, so that no Send waits for it. To
// read settings, it needs DESCRIBE_CONFIGS on the topics. An error means that the cluster did not
// answer; it wraps outbox.ErrClosed after Close.
func (s *Sink) Inspect(ctx context.Context, topics ...string) (ClusterFacts, error) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return ClusterFacts{}, errClosed
	}
	var conn connErrors
	client, err := kgo.NewClient(append(slices.Clone(s.cfg.Options), kgo.SeedBrokers(s.brokers...), kgo.DisableClientMetrics(), kgo.WithHooks(&conn))...)
	if err != nil {
		return ClusterFacts{}, fmt.Errorf("leat: kafka client: %w", err)
	}
	end := sync.OnceFunc(client.Close)
	defer end()
	defer context.AfterFunc(ctx, end)()
	var facts ClusterFacts
	for first := true; first || len(topics) > 0; first = false {
		n := min(len(topics), inspectChunk)
		if err := facts.add(ctx, client, topics[:n]); err != nil {
			return ClusterFacts{}, conn.explain(fmt.Errorf("leat: inspect kafka at %v: %w", s.brokers, err))
		}
		topics = topics[n:]
	}
	return facts, nil
}

// add asks about the cluster and about topics.
func (f *ClusterFacts) add(ctx context.Context, client *kgo.Client, topics []string) error {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // none, not all
	req.IncludeTopicAuthorizedOperations = true
	found := make([]TopicFacts, len(topics))
	places := make(map[string][]int, len(topics))
	for i, name := range topics {
		found[i] = TopicFacts{Name: name, Err: errNoAnswer}
		if !legal(name) {
			found[i].Err = fmt.Errorf("%w: %.200q", errTopicName, name)
			continue
		}
		if places[name] = append(places[name], i); len(places[name]) == 1 {
			t := kmsg.NewMetadataRequestTopic()
			t.Topic = new(name)
			req.Topics = append(req.Topics, t)
		}
	}
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	f.describe(resp)
	var known []string
	for i := range resp.Topics {
		answer := &resp.Topics[i]
		if answer.Topic == nil {
			continue
		}
		t := TopicFacts{Name: *answer.Topic}
		if t.partitions(answer); t.Err == nil {
			known = append(known, t.Name)
		}
		for _, place := range places[t.Name] {
			found[place] = t
		}
	}
	settings, err := readSettings(ctx, client, known)
	for name, of := range settings {
		for _, place := range places[name] {
			found[place].settings(of)
		}
	}
	f.Topics = append(f.Topics, found...)
	return err
}

func (f *ClusterFacts) describe(resp *kmsg.MetadataResponse) {
	f.ID, f.Brokers = "", nil
	if resp.ClusterID != nil {
		f.ID = *resp.ClusterID
	}
	for _, b := range resp.Brokers {
		facts := BrokerFacts{ID: b.NodeID, Address: net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))}
		if b.Rack != nil {
			facts.Rack = *b.Rack
		}
		f.Brokers = append(f.Brokers, facts)
	}
	slices.SortFunc(f.Brokers, func(a, b BrokerFacts) int { return int(a.ID) - int(b.ID) })
}

// partitions reads the topic's partitions from the cluster's answer.
func (t *TopicFacts) partitions(answer *kmsg.MetadataResponseTopic) {
	err := kerr.ErrorForCode(answer.ErrorCode)
	if err == nil && !writable(answer.AuthorizedOperations) {
		err = kerr.TopicAuthorizationFailed
	}
	// A topic is known even if one of its partitions has no leader.
	if err != nil && !errors.Is(err, kerr.LeaderNotAvailable) {
		t.Err = explainTopic(t.Name, err)
		return
	}
	t.Partitions = len(answer.Partitions)
	for i := range answer.Partitions {
		p := &answer.Partitions[i]
		if p.Leader < 0 {
			t.Leaderless++
		}
		if i == 0 || len(p.Replicas) < t.ReplicationFactor {
			t.ReplicationFactor = len(p.Replicas)
		}
		if i == 0 || len(p.ISR) < t.InSync {
			t.InSync = len(p.ISR)
		}
	}
	if t.Partitions == 0 {
		t.Err = outbox.Failed(outbox.FailureOutage, explainTopic(t.Name, kerr.LeaderNotAvailable)).Err
	}
}
