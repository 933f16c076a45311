package main_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// A consumer group is shown beside what the database remembers, and set back, never forward and
// never under its members.
//
//leat:level 1
func TestInboxRewind(t *testing.T) { //nolint:revive // one story
	t.Parallel()
	kafka := testenv.RealKafka(t)
	topic, group := kafka.Topic(t, "orders", 2), kafka.Name("billing")
	client, err := kgo.NewClient(kgo.SeedBrokers(kafka.Brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	require.NoError(t, err)
	defer client.Close()
	for i := range 10 {
		require.NoError(t, client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Partition: int32(i % 2), Value: []byte("{}")}).FirstErr())
	}
	admin := kadm.NewClient(client)
	commit := func(metadata string) {
		offsets := kadm.Offsets{}
		offsets.Add(kadm.Offset{Topic: topic, Partition: 0, At: 5, LeaderEpoch: -1, Metadata: metadata})
		offsets.Add(kadm.Offset{Topic: topic, Partition: 1, At: 4, LeaderEpoch: -1, Metadata: metadata})
		require.NoError(t, admin.CommitAllOffsets(t.Context(), group, offsets))
	}
	s := newShop(t)
	in, err := pginbox.New(s.Pool, "billing", pginbox.Config{})
	require.NoError(t, err)
	require.NoError(t, in.Migrate(t.Context()))
	o := newSession(t, s.URL)
	o.env = append(o.env, "LEAT_KAFKA_BROKERS="+strings.Join(kafka.Brokers, ","))
	for err := error(kerr.CoordinatorNotAvailable); errors.Is(err, kerr.CoordinatorNotAvailable); { // a new cluster has none yet
		_, err = admin.FetchOffsets(t.Context(), group)
	}
	unknown := o.leat("inbox", "lag", "--group", group)
	require.Equal(t, 3, unknown.code, unknown.err)
	commit("leat topic-id=x marks-since=0")
	require.Equal(t, 3, o.leat("inbox", "rewind", "--group", group, "--to", "marks", "--yes").code, "the inbox has no marks")

	details, err := admin.ListTopics(t.Context(), topic)
	require.NoError(t, err)
	of := driver.GroupTopic{Group: group, Topic: topic, Source: uuid.UUID(details[topic].ID).String()}
	marks, err := in.Marks(t.Context(), of)
	require.NoError(t, err)
	_, err = in.SetMarks(t.Context(), of, marks.History, map[int32]driver.Mark{0: {Next: 2}, 1: {Next: 7}})
	require.NoError(t, err)

	type row struct {
		Partition           int32
		Committed, End, Lag int64
		Mark                *int64
	}
	lag := func() (at [2]int64) {
		r := o.leat("inbox", "lag", "--group", group, "--topic", topic, "--output", "json")
		require.Zero(t, r.code, r.err)
		var found struct{ Partitions []row }
		require.NoError(t, json.Unmarshal([]byte(r.out), &found))
		for _, p := range found.Partitions {
			require.Equal(t, []int64{5, 5 - p.Committed}, []int64{p.End, p.Lag})
			require.Equal(t, map[int32]int64{0: 2, 1: 7}[p.Partition], *p.Mark)
			at[p.Partition] = p.Committed
		}
		if at[0] > 2 {
			require.Contains(t, r.err, "beyond what the inbox's database remembers")
		}
		return at
	}
	rewind := func(to string, more ...string) result {
		return o.leat(append([]string{"inbox", "rewind", "--group", group, "--to", to}, more...)...)
	}
	require.Equal(t, [2]int64{5, 4}, lag())
	require.Equal(t, 5, o.leat("inbox", "lag", "--group", group, "--drained").code)
	require.Zero(t, rewind("marks", "--dry-run").code)
	require.Equal(t, 2, rewind("marks").code, "nobody can answer")
	require.Equal(t, [2]int64{5, 4}, lag(), "as it was")

	member, err := kgo.NewClient(kgo.SeedBrokers(kafka.Brokers...), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit())
	require.NoError(t, err)
	member.PollRecords(t.Context(), 1) // it has joined once it has read something
	refused := rewind("marks", "--yes")
	require.Equal(t, 4, refused.code)
	require.Contains(t, refused.err, "has 1 member: stop them first")
	member.Close()

	require.Zero(t, rewind("marks", "--yes").code)
	require.Equal(t, [2]int64{2, 4}, lag(), "to the mark, and not forward")
	commit("leat topic-id=x marks-since=0")
	require.Zero(t, rewind("committed", "--yes").code)
	require.Equal(t, [2]int64{5, 4}, lag())
	offsets, err := admin.FetchOffsets(t.Context(), group)
	require.NoError(t, err)
	at, _ := offsets.Lookup(topic, 0)
	require.Empty(t, at.Metadata, "members do not compare it")
	require.Zero(t, rewind(time.Now().Add(-time.Hour).UTC().Format(time.RFC3339), "--yes").code)
	require.Equal(t, [2]int64{}, lag())

	alone := newSession(t, "") // Kafka alone can be asked
	alone.env = append(alone.env, "LEAT_KAFKA_BROKERS="+strings.Join(kafka.Brokers, ","))
	require.Zero(t, alone.leat("inbox", "lag", "--group", group).code)
}
