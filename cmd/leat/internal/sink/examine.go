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

// Use is how a topic is used.
type Use struct {
	Topic string
	// Bytes is the size of the largest record, about; 0 if nobody knows.
	Bytes int64
	// Late is how long ago an event was, at most, when it was sent.
	Late time.Duration
	// Partitions is how many there were, 0 if nobody knows.
	Partitions int
	// Positions is set if it holds the positions of a relay, and no records.
	Positions bool
}

// Cluster is what is looked at: *kafkasink.Sink is one.
type Cluster interface {
	Inspect(ctx context.Context, topics ...string) (kafkasink.ClusterFacts, error)
}

// Closer is a Cluster that can be closed.
type Closer interface {
	Cluster
	Close() error
}

// Unreached is a cluster of which this process lacks a secret.
type Unreached struct{ Err error }

// Inspect fails with what is missing.
func (u Unreached) Inspect(context.Context, ...string) (kafkasink.ClusterFacts, error) {
	return kafkasink.ClusterFacts{}, u.Err
}

// Close does nothing.
func (Unreached) Close() error { return nil }

// Checks are those of a cluster and of the topics in use. It is asked once, uses too.
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

// examination looks once.
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

// check judges each topic that is there. One whose settings the cluster does not tell is
// unknown.
func (x *examination) check(name string, judge func(u Use, t *kafkasink.TopicFacts) []doctor.Finding, needs ...string) doctor.Check {
	return doctor.Check{Name: name, Run: func(ctx context.Context) ([]doctor.Finding, error) {
		x.look(ctx)
		if err := errors.Join(x.err, x.usedErr); err != nil {
			return nil, err
		}
		var all []doctor.Finding
		var told []string // by kafka.topics
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

// LongestRetention is how long the topics in use are kept at most; negative: for ever, 0: not
// known.
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
