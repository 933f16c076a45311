package sink

import (
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// of returns a finding about a topic.
func of(t *kafkasink.TopicFacts, v doctor.Verdict, advice, format string, args ...any) doctor.Finding {
	return doctor.Finding{Verdict: v, Text: "topic " + t.Name + ": " + fmt.Sprintf(format, args...), Advice: advice}
}

func topicThere(_ Use, t *kafkasink.TopicFacts) []doctor.Finding {
	switch {
	case t.Err != nil:
		return []doctor.Finding{of(t, doctor.Fail, "create it, or allow Write and Describe; its messages wait meanwhile", "%s", t.Err)}
	case t.Leaderless > 0:
		return []doctor.Finding{of(t, doctor.Fail, "look at the brokers", "%d of %d partitions have no leader", t.Leaderless, t.Partitions)}
	default:
		return nil
	}
}

// durability reports settings that can lose acknowledged records, and settings with which the failure of
// one broker stops writes.
func durability(_ Use, t *kafkasink.TopicFacts) (all []doctor.Finding) {
	switch {
	case t.MinInSyncReplicas < 2:
		all = append(all, of(t, doctor.Warn, "three replicas, and min.insync.replicas=2",
			"min.insync.replicas is %d: a record that was acknowledged can be on one broker alone, and be lost with it", t.MinInSyncReplicas))
	case t.MinInSyncReplicas >= t.ReplicationFactor:
		all = append(all, of(t, doctor.Warn, "one replica more, or min.insync.replicas one less",
			"min.insync.replicas is %d of %d replicas: nothing can be written while one broker is unavailable", t.MinInSyncReplicas, t.ReplicationFactor))
	}
	if t.InSync < t.MinInSyncReplicas {
		all = append(all, of(t, doctor.Fail, "look at the brokers", "%d replicas are in sync, and min.insync.replicas is %d: nothing can be written", t.InSync, t.MinInSyncReplicas))
	}
	if t.UncleanLeaderElection {
		all = append(all, of(t, doctor.Warn, "unclean.leader.election.enable=false", "unclean leaders may be elected: they lose what was acknowledged"))
	}
	return all
}

// overhead is the size of the headers that leat adds to key, payload and the record's own headers.
const overhead = 1024

func size(u Use, t *kafkasink.TopicFacts) []doctor.Finding {
	if u.Bytes == 0 || u.Bytes+overhead <= int64(t.MaxMessageBytes) {
		return nil
	}
	return []doctor.Finding{of(t, doctor.Warn, "raise max.message.bytes, or let messages be smaller",
		"max.message.bytes is %d, and there are records of about %d: what is larger is refused", t.MaxMessageBytes, u.Bytes)}
}

func retention(u Use, t *kafkasink.TopicFacts) (all []doctor.Finding) {
	switch deletes := slices.Contains(t.CleanupPolicy, "delete"); {
	case !deletes && !slices.Contains(t.Unknown, "cleanup.policy"), t.Retention < 0, u.Positions:
	case u.Late >= t.Retention:
		all = append(all, of(t, doctor.Fail, "raise retention.ms, or give events the time of the call",
			"retention.ms is %s, and there are records whose event was %s ago: Kafka deletes them at once, before anybody reads them", t.Retention, u.Late.Round(time.Second)))
	case t.Retention < 24*time.Hour:
		all = append(all, of(t, doctor.Warn, "raise retention.ms above the longest outage of a consumer", "retention.ms is %s: a consumer that is down for longer loses messages", t.Retention))
	}
	return all
}

func eventTime(u Use, t *kafkasink.TopicFacts) []doctor.Finding {
	if u.Late < t.MaxTimestampAge {
		return nil
	}
	return []doctor.Finding{of(t, doctor.Warn, "raise message.timestamp.before.max.ms, or give events the time of the call",
		"message.timestamp.before.max.ms is %s, and there are records whose event was %s ago: Kafka refuses that time, and the sink sends them again with the time of now", t.MaxTimestampAge, u.Late.Round(time.Second))}
}

// compaction is right for positions only: of events it keeps only the last one of each key.
func compaction(u Use, t *kafkasink.TopicFacts) []doctor.Finding {
	switch compacts := slices.Contains(t.CleanupPolicy, "compact"); {
	case u.Positions && (!compacts || len(t.CleanupPolicy) > 1):
		return []doctor.Finding{of(t, doctor.Fail, "cleanup.policy=compact",
			"cleanup.policy is %v: it holds positions, and the one of a slot that is idle would be deleted", t.CleanupPolicy)}
	case !u.Positions && compacts:
		return []doctor.Finding{of(t, doctor.Warn, "cleanup.policy=delete, if each event counts", "cleanup.policy is %v: of each key only the last event is kept for long", t.CleanupPolicy)}
	default:
		return nil
	}
}

func partitions(u Use, t *kafkasink.TopicFacts) []doctor.Finding {
	switch {
	case u.Partitions == 0 || u.Partitions == t.Partitions:
		return nil
	case t.Partitions < u.Partitions:
		return []doctor.Finding{of(t, doctor.Fail, "see docs/inbox-watermark.md", "has %d partitions, and consumers remember positions in %d: it was deleted and made anew", t.Partitions, u.Partitions)}
	default:
		return []doctor.Finding{of(t, doctor.Warn, "stop producers and drain before partitions are added",
			"has %d partitions, and consumers remember positions in %d: keys have moved, and a key's messages can be out of order around that time", t.Partitions, u.Partitions)}
	}
}
