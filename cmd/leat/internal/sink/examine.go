package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// Use is the use of a topic.
type Use struct {
	Topic string
	// Bytes is the approximate size of the largest record; 0 if it is not known.
	Bytes int64
	// Late is the greatest age of an event when it was sent.
	Late time.Duration
	// Partitions is the number of partitions that consumers remember, 0 if it is not known.
	Partitions int
	// Positions is set if the topic holds the positions of a relay instead of records.
	Positions bool
}

// Cluster is a cluster to inspect, such as a *kafkasink.Sink.
type Cluster interface {
	Inspect(ctx context.Context, topics ...string) (kafkasink.ClusterFacts, error)
}

// Closer is a Cluster that can be closed.
type Closer interface {
	Cluster
	Close() error
}

// Unreached is a cluster that this process lacks a secret for.
type Unreached struct{ Err error }

// Inspect fails with the missing secret.
func (u Unreached) Inspect(context.Context, ...string) (kafkasink.ClusterFacts, error) {
	return kafkasink.ClusterFacts{}, u.Err
}

// Close does nothing.
func (Unreached) Close() error { return nil }

// Checks are the checks of a cluster and of the topics in use. The cluster and uses are asked only once.
func Checks(cluster Cluster, uses func(ctx context.Context) ([]Use, error)) []doctor.Check {
	x := &examination{cluster: cluster, uses: uses}
	return []doctor.Check{
		{Name: "kafka.reachable", Run: x.reachable},
		x.check("kafka.topics", topicThere),
		x.check("kafka.durability", durability, "min.insync.replicas", "unclean.leader.election.enable"),
		x.check("kafka.size", size, "max.message.bytes"),
		x.check("kafka.retention", retention, "retention.ms"),
		x.check("kafka.event_time", eventTime, "message.timestamp.before.max.ms"),
		x.check("kafka.compaction", compaction, "cleanup.policy"),
		x.check("kafka.partitions", partitions),
	}
}

// examination inspects the cluster once for all checks.
type examination struct {
	cluster Cluster
	uses    func(ctx context.Context) ([]Use, error)

	once    sync.Once
	used    []Use
	usedErr error
	facts   kafkasink.ClusterFacts
	err     error
}

// patience is how long the cluster may take.
const patience = 20 * time.Second

func (x *examination) look(ctx context.Context) {
	x.once.Do(func() {
		x.used, x.usedErr = x.uses(ctx)
		topics := make([]string, len(x.used))
		for i, u := range x.used {
			topics[i] = u.Topic
		}
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		x.facts, x.err = x.cluster.Inspect(ctx, topics...)
	})
}

func (x *examination) reachable(ctx context.Context) ([]doctor.Finding, error) {
	x.look(ctx)
	if _, ok := errors.AsType[*settings.InvalidError](x.err); ok {
		return []doctor.Finding{{Verdict: doctor.Unknown, Text: x.err.Error(), Advice: "look with the variables and files that the daemon has"}}, nil
	}
	if x.err == nil {
		return nil, nil
	}
	return []doctor.Finding{{
		Verdict: doctor.Fail, Text: x.err.Error(), Advice: "nothing is lost: messages wait. Look at the brokers, the network, and --brokers",
	}}, nil
}

// check judges each topic that exists. A topic whose settings the cluster does not reveal is unknown.
func (x *examination) check(name string, judge func(u Use, t *kafkasink.TopicFacts) []doctor.Finding, needs ...string) doctor.Check {
	return doctor.Check{Name: name, Run: func(ctx context.Context) ([]doctor.Finding, error) {
		x.look(ctx)
		if err := errors.Join(x.err, x.usedErr); err != nil {
			return nil, err
		}
		var all []doctor.Finding
		var told []string // reported by kafka.topics
		for i := range x.facts.Topics {
			t := &x.facts.Topics[i]
			if t.Err != nil && name != "kafka.topics" {
				told = append(told, t.Name)
				continue
			}
			untold := slices.DeleteFunc(slices.Clone(needs), func(setting string) bool { return !slices.Contains(t.Unknown, setting) })
			if len(untold) > 0 {
				all = append(all, unknown(t, untold))
				continue
			}
			all = append(all, judge(x.used[i], t)...)
		}
		switch len(told) {
		case 0:
		case 1:
			all = append(all, doctor.Finding{Verdict: doctor.Unknown, Text: "topic " + told[0] + ": see kafka.topics"})
		default:
			all = append(all, doctor.Finding{Verdict: doctor.Unknown, Text: fmt.Sprintf("%d topics, %s and others: see kafka.topics", len(told), told[0])})
		}
		return all, nil
	}}
}

func unknown(t *kafkasink.TopicFacts, settings []string) doctor.Finding {
	f := doctor.Finding{Verdict: doctor.Unknown, Text: fmt.Sprintf("topic %s: the cluster does not tell %q", t.Name, settings)}
	if t.UnknownErr != nil {
		f.Text += ": " + t.UnknownErr.Error()
		f.Advice = "allow DescribeConfigs on the topic"
	}
	return f
}

// LongestRetention is the longest retention of the topics in use; negative: for ever, 0: not known.
func LongestRetention(ctx context.Context, cluster Cluster, uses func(ctx context.Context) ([]Use, error)) (longest time.Duration, err error) {
	x := &examination{cluster: cluster, uses: uses}
	x.look(ctx)
	if err := errors.Join(x.err, x.usedErr); err != nil {
		return 0, err
	}
	for i := range x.facts.Topics {
		t := &x.facts.Topics[i]
		switch {
		case t.Err != nil || slices.Contains(t.Unknown, "retention.ms") || x.used[i].Positions:
		case t.Retention < 0:
			return -1, nil
		default:
			longest = max(longest, t.Retention)
		}
	}
	return longest, nil
}
