package main_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// Each bad state of a topic is told, on a real cluster, by what the outbox has sent there.
func TestDoctor_Kafka(t *testing.T) {
	t.Parallel()
	kafka := testenv.RealKafka(t)
	client, err := kgo.NewClient(kgo.SeedBrokers(kafka.Brokers...))
	require.NoError(t, err)
	defer client.Close()
	admin := kadm.NewClient(client)
	topic, positions := kafka.Name("orders"), kafka.Name("positions")
	for _, name := range []string{topic, positions} {
		created, err := admin.CreateTopic(t.Context(), 2, 1, map[string]*string{"cleanup.policy": new("delete"), "retention.ms": new("604800000")}, name)
		require.NoError(t, err)
		require.NoError(t, created.Err)
	}
	s := newShop(t)
	old := placed("m-1", topic, "order-1", "fine")
	old.OccurredAt = time.Now().Add(-2 * time.Hour)
	s.enqueue(t, old, outbox.Message{ID: "m-2", Topic: topic, Payload: make([]byte, 5000)})
	o := newSession(t, s.URL)
	o.env = append(o.env, "LEAT_KAFKA_BROKERS="+kafka.Brokers[0])

	require.Equal(t, doctor.Warn, o.awaited(t, "kafka.durability", "min.insync.replicas is 1", "--topic", topic).Verdict)
	for _, check := range []string{"kafka.reachable", "kafka.topics", "kafka.size", "kafka.retention", "kafka.event_time", "kafka.compaction", "kafka.partitions"} {
		require.Equal(t, doctor.OK, o.verdict(check, "").Verdict, check)
	}
	set := func(name, setting, value string) {
		resp, err := admin.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Name: setting, Value: &value}}, name)
		require.NoError(t, err)
		require.NoError(t, resp[0].Err)
	}
	for _, ill := range []struct {
		setting, value, check string
		verdict               doctor.Verdict
		text                  string
	}{
		{"min.insync.replicas", "2", "kafka.durability", doctor.Warn, "2 of 1 replicas"},
		{"unclean.leader.election.enable", "true", "kafka.durability", doctor.Warn, "unclean leaders"},
		{"max.message.bytes", "4000", "kafka.size", doctor.Warn, "records of about 5000"},
		{"retention.ms", "3600000", "kafka.retention", doctor.Fail, "event was 2h0m"},
		{"retention.ms", "36000000", "kafka.retention", doctor.Warn, "retention.ms is 10h"},
		{"message.timestamp.before.max.ms", "3600000", "kafka.event_time", doctor.Warn, "Kafka refuses that time"},
		{"cleanup.policy", "compact", "kafka.compaction", doctor.Warn, "only the last event"},
	} {
		set(topic, ill.setting, ill.value)
		require.Equal(t, ill.verdict, o.awaited(t, ill.check, ill.text).Verdict, ill.setting)
	}
	require.Equal(t, doctor.Fail, o.awaited(t, "kafka.durability", "1 replicas are in sync").Verdict)
	require.Equal(t, doctor.Fail, o.awaited(t, "kafka.compaction", "holds positions", "--positions-topic", positions).Verdict)

	s.enqueue(t, placed("m-3", kafka.Name("missing"), "order-1", "fine"))
	require.Equal(t, doctor.Fail, o.verdict("kafka.topics", kafka.Name("missing")).Verdict)
	s.consume(t)
	_, err = s.Pool.Exec(t.Context(), "UPDATE leat.inbox_sources SET topic = $1", topic)
	require.NoError(t, err)
	require.Equal(t, doctor.Warn, o.awaited(t, "kafka.partitions", "has 2 partitions, and consumers remember positions in 1").Verdict)
}

// A cluster that is unavailable is told once, and nothing about its topics is known.
//
//leat:level 2
func TestDoctor_KafkaAway(t *testing.T) {
	t.Parallel()
	away := newSession(t, newShop(t).URL)
	found, code := away.examined("--only", "kafka.*", "--brokers", "127.0.0.1:1")
	require.Equal(t, 5, code)
	require.Equal(t, doctor.Fail, found[0].Verdict)
	for _, f := range found[1:] {
		require.Equal(t, doctor.Unknown, f.Verdict, f)
	}
}

// awaited is a finding that a cluster tells of a moment after a change.
func (s *session) awaited(t *testing.T, check, part string, args ...string) (found doctor.Finding) {
	t.Helper()
	require.Eventually(t, func() bool {
		all, _ := s.examined(append([]string{"--only", check}, args...)...)
		for _, f := range all {
			if found = f; strings.Contains(f.Text, part) {
				return true
			}
		}
		return false
	}, patience, patience/500, "%s: %q", check, part)
	return found
}

// A Redis that forgets, and one that does not tell.
//
//leat:level 2
func TestDoctor_Redis(t *testing.T) {
	t.Parallel()
	well := testenv.PrivateRedis(t, map[string]string{"appendonly": "yes", "maxmemory-policy": "noeviction"})
	ill := testenv.PrivateRedis(t, map[string]string{"save": "", "appendonly": "no", "maxmemory-policy": "allkeys-lru"})
	o := newSession(t, newShopWithout(t).URL)
	of := func(address, check string) doctor.Finding {
		found, _ := o.examined("--only", check, "--redis", address)
		require.Len(t, found, 1)
		return found[0]
	}
	for check, verdict := range map[string]doctor.Verdict{"redis.eviction": doctor.Fail, "redis.persistence": doctor.Warn} {
		require.Equal(t, doctor.OK, of(well.Addr, check).Verdict, check)
		require.Equal(t, verdict, of(ill.Addr, check).Verdict, check)
		require.Equal(t, doctor.Unknown, of("127.0.0.1:1", check).Verdict, check)
	}
	client := redis.NewClient(&redis.Options{Addr: well.Addr})
	defer client.Close()
	require.NoError(t, client.Do(t.Context(), "ACL", "SETUSER", "default", "-config").Err())
	require.Equal(t, doctor.Unknown, of(well.Addr, "redis.eviction").Verdict, "a server that does not tell")
}

// What an inbox forgets, who is silent, and what waits.
func TestDoctor_Inbox(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := newSession(t, s.URL)
	require.Equal(t, doctor.OK, o.verdict("inbox.retention", "").Verdict, "there is no inbox")
	s.consume(t)
	require.Equal(t, doctor.Warn, o.verdict("inbox.retention", "forgets nothing").Verdict)
	require.Equal(t, doctor.Warn, o.verdict("inbox.parked", "consumer loyalty").Verdict)
	require.Equal(t, doctor.OK, o.verdict("inbox.consumers", "").Verdict)
	found, _ := o.examined("--only", "inbox.consumers", "--silent", "1ms")
	require.Equal(t, doctor.Warn, found[0].Verdict, found)

	require.Equal(t, doctor.OK, o.verdict("inbox.ranges", "").Verdict)
	require.Equal(t, doctor.OK, o.verdict("inbox.covers", "").Verdict)
	r := o.leat("inbox", "retention", "enable", "--retention", "14d", "--yes")
	require.Zero(t, r.code, r.err)
	require.Equal(t, doctor.OK, o.verdict("inbox.retention", "").Verdict)
	m, err := pginbox.NewMaintenance(s.Pool, pginbox.Config{}, pginbox.MaintenanceConfig{})
	require.NoError(t, err)
	_, err = m.RunOnce(t.Context())
	require.NoError(t, err)
	require.Equal(t, doctor.OK, o.verdict("inbox.ranges", "").Verdict)
	for _, sql := range []string{
		// What was forgotten until two days ago, as maintenance writes it down.
		"UPDATE leat.inbox_retention SET floor = (rpad(lpad(to_hex(((extract(epoch FROM now()) - 2 * 86400) * 1000)::bigint), 12, '0'), 32, '0'))::uuid",
		"DO $$ DECLARE r regclass; BEGIN FOR r IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'leat.inbox_ranges'::regclass LOOP EXECUTE 'DROP TABLE ' || r; END LOOP; END $$",
	} {
		_, err = s.Pool.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	require.Equal(t, doctor.Warn, o.verdict("inbox.covers", "remembers 48h").Verdict)
	found, _ = o.examined("--only", "inbox.covers", "--outbox-retention", "1d")
	require.Equal(t, doctor.OK, found[0].Verdict, found)
	require.Equal(t, doctor.Warn, o.verdict("inbox.ranges", "no range is ahead").Verdict)
	_, err = s.Pool.Exec(t.Context(), "UPDATE leat.inbox_retention SET floor = '0fffffff-0000-0000-0000-000000000000'")
	require.NoError(t, err)
	require.Equal(t, doctor.Fail, o.verdict("inbox.covers", "ahead of the database's clock").Verdict)
	viewer := newSession(t, s.URL+"&options=-c%20role%3Dpg_monitor")
	for _, check := range []string{"inbox.retention", "inbox.covers", "inbox.ranges", "inbox.consumers", "inbox.parked"} {
		require.Equal(t, doctor.Unknown, viewer.verdict(check, "").Verdict, check)
	}
}
