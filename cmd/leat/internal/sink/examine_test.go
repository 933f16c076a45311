package sink_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/cmd/leat/internal/sink"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// told is a cluster that tells facts.
type told []kafkasink.TopicFacts

func (t told) Inspect(context.Context, ...string) (kafkasink.ClusterFacts, error) {
	return kafkasink.ClusterFacts{Topics: t}, nil
}

func examine(t *testing.T, facts kafkasink.TopicFacts, use sink.Use) map[string]doctor.Verdict {
	t.Helper()
	uses := func(context.Context) ([]sink.Use, error) { return []sink.Use{use}, nil }
	found, err := doctor.Examine(t.Context(), sink.Checks(told{facts}, uses), "")
	require.NoError(t, err)
	verdicts := map[string]doctor.Verdict{}
	for _, f := range found {
		verdicts[f.Check] = f.Verdict
	}
	return verdicts
}

// A topic as it should be passes all checks; one that has fewer partitions than before, or
// whose settings the cluster does not tell, does not. What a real cluster tells of the rest:
// TestDoctor_Kafka.
func TestChecks(t *testing.T) {
	t.Parallel()
	well := kafkasink.TopicFacts{
		Name: "orders", Partitions: 3, ReplicationFactor: 3, InSync: 3, MinInSyncReplicas: 2, MaxMessageBytes: 1 << 20,
		Retention: 7 * 24 * time.Hour, MaxTimestampAge: time.Hour, CleanupPolicy: []string{"delete"},
	}
	use := sink.Use{Topic: "orders", Bytes: 1000, Late: time.Minute, Partitions: 3}
	for check, verdict := range examine(t, well, use) {
		require.Equal(t, doctor.OK, verdict, check)
	}
	use.Partitions = 4
	require.Equal(t, doctor.Fail, examine(t, well, use)["kafka.partitions"])
	leaderless := well
	leaderless.Leaderless = 1
	require.Equal(t, doctor.Fail, examine(t, leaderless, use)["kafka.topics"])
	positions := well
	positions.CleanupPolicy = []string{"compact"}
	require.Equal(t, doctor.OK, examine(t, positions, sink.Use{Topic: "orders", Positions: true})["kafka.compaction"])
	dumb := kafkasink.TopicFacts{
		Name: "orders", Partitions: 3, ReplicationFactor: 3, InSync: 3, UnknownErr: errors.New("needs DESCRIBE_CONFIGS"),
		Unknown: []string{"min.insync.replicas", "unclean.leader.election.enable", "max.message.bytes", "retention.ms", "message.timestamp.before.max.ms", "cleanup.policy"},
	}
	verdicts := examine(t, dumb, use)
	for _, check := range []string{"kafka.durability", "kafka.size", "kafka.retention", "kafka.event_time", "kafka.compaction"} {
		require.Equal(t, doctor.Unknown, verdicts[check], check)
	}
}

// Topics that are missing are told by kafka.topics, each; of another check they are one line.
func TestChecks_ManyMissing(t *testing.T) {
	t.Parallel()
	var facts []kafkasink.TopicFacts
	var uses []sink.Use
	for _, name := range []string{"a", "b", "c"} {
		facts = append(facts, kafkasink.TopicFacts{Name: name, Err: errors.New("no such topic")})
		uses = append(uses, sink.Use{Topic: name})
	}
	found, err := doctor.Examine(t.Context(), sink.Checks(told(facts), func(context.Context) ([]sink.Use, error) { return uses, nil }), "")
	require.NoError(t, err)
	lines := map[string]int{}
	for _, f := range found {
		lines[f.Check]++
		if f.Check == "kafka.durability" {
			require.Equal(t, "3 topics, a and others: see kafka.topics", f.Text)
		}
	}
	require.Equal(t, 3, lines["kafka.topics"])
	require.Equal(t, 1, lines["kafka.durability"])
}
