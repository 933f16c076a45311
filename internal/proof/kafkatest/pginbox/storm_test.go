package pginbox_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// storm is a topic that contains every message several times, the copies at random places of random
// partitions, and a group of consumer processes that are killed.
type storm struct {
	t         *testing.T
	db        *testenv.Database
	broker    *testenv.KafkaEnv
	admin     *kadm.Client
	topic     string
	naive     bool
	rng       *rand.Rand
	consumers [4]*consumer
	kills     int
}

const stormPartitions = 8

func newStorm(t *testing.T, messages, copies int, naive bool) *storm {
	t.Helper()
	s := &storm{
		t: t, db: testenv.Postgres(t, template), broker: testenv.RealKafka(t),
		naive: naive, rng: rand.New(rand.NewPCG(3, 5)),
	}
	s.topic = s.broker.Topic(t, "storm", stormPartitions)
	client, err := kgo.NewClient(kgo.SeedBrokers(s.broker.Brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	s.admin = kadm.NewClient(client)

	order := s.rng.Perm(messages * copies)
	records := make([]*kgo.Record, len(order))
	for i, n := range order {
		records[i] = &kgo.Record{
			Topic: s.topic, Partition: s.rng.Int32N(stormPartitions),
			Headers: []kgo.RecordHeader{{Key: outbox.HeaderWatermillUUID, Value: []byte(stormID(n % messages))}},
		}
	}
	require.NoError(t, client.ProduceSync(t.Context(), records...).FirstErr())
	for i := range s.consumers {
		s.consumers[i] = s.spawn(i)
	}
	return s
}

// stormID returns the id of message n: of version 7, made within one hour.
func stormID(n int) string {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], (1_760_000_000_000+uint64(n)*36)<<16)
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	id[6] = 0x70
	id[8] = 0x80
	return id.String()
}

func (s *storm) spawn(member int) *consumer {
	environ := []string{
		envStormDatabase + "=" + s.db.URL, envStormBrokers + "=" + strings.Join(s.broker.Brokers, ","),
		envStormTopic + "=" + s.topic, envStormGroup + "=" + s.broker.Name("storm"),
		envStormMember + "=member-" + strconv.Itoa(member),
	}
	if s.naive {
		environ = append(environ, envStormNaive+"=1")
	}
	return spawnConsumer(s.t, environ...)
}

// arm plans a kill of a consumer: in a handler, or between the end of a delivery and its acknowledgement.
// Each partition is delivered one message at a time, so that after the consumer's last word a delivery is
// in progress.
func (s *storm) arm(member int) {
	c := s.consumers[member]
	c.doom.Store(&doom{
		runs: c.runs.Load() + 2 + s.rng.Int64N(100),
		ends: c.ends.Load() + 2 + s.rng.Int64N(1000),
	})
}

// revive restarts the consumers that were killed.
func (s *storm) revive() {
	for member, c := range s.consumers {
		if !c.ended() {
			continue
		}
		s.kills++
		s.t.Logf("SIGKILL, consumer %d, at %q: %d handlers had begun, %d deliveries had ended",
			member, c.killedAt.Load(), c.runs.Load(), c.ends.Load())
		s.consumers[member] = s.spawn(member)
		s.arm(member)
	}
}

// consumed reports whether the group has acknowledged everything. It pauses before it asks the broker.
func (s *storm) consumed() bool {
	pause := time.NewTimer(20 * time.Millisecond)
	defer pause.Stop()
	<-pause.C
	require.NoError(s.t, s.t.Context().Err())
	lags, err := s.admin.Lag(s.t.Context(), s.broker.Name("storm"))
	lag, ok := lags[s.broker.Name("storm")] // a broker that has no coordinator yet is asked again
	return err == nil && ok && lag.FetchErr == nil && lag.Lag.Total() == 0 && len(lag.Lag[s.topic]) == stormPartitions
}

// audit returns how many messages took effect more than once, and how many never did.
func (s *storm) audit(messages int) (double, lost int) {
	var distinct int
	row := s.db.Pool.QueryRow(s.t.Context(), `
		SELECT count(*), count(*) FILTER (WHERE n > 1) FROM (SELECT count(*) AS n FROM effects GROUP BY effect) e`)
	require.NoError(s.t, row.Scan(&distinct, &double))
	return double, messages - distinct
}

// run waits until everything is consumed, and stops the consumers.
func (s *storm) run() {
	for !s.consumed() {
		s.revive()
	}
	for _, c := range s.consumers {
		c.doom.Store(nil)
	}
	s.revive()
	for i, c := range s.consumers {
		c.doom.Store(nil)
		require.NoError(s.t, c.stop(), "consumer %d", i)
	}
}

// TestI1_Storm: every message is delivered ten times, to consumer processes that are killed at any moment.
// Each message takes effect once.
//
//leat:level 4
func TestI1_Storm(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "tens of thousands of deliveries")
	const copies = 10
	messages := stormSize(t)
	began := time.Now()
	s := newStorm(t, messages, copies, false)
	for member := range s.consumers {
		s.arm(member)
	}
	s.run()
	var ends, runs int64
	for _, c := range s.consumers {
		ends, runs = ends+c.ends.Load(), runs+c.runs.Load()
	}
	double, lost := s.audit(messages)
	t.Logf("%d deliveries of %d messages in %s, %d kills; the last processes ran %d of %d",
		messages*copies, messages, time.Since(began).Round(time.Second), s.kills, runs, ends)
	require.Zero(t, double, "messages that took effect more than once")
	require.Zero(t, lost, "messages that took no effect")
	require.GreaterOrEqual(t, s.kills, 4, "kills")
}

// TestI1_StormSeesWithoutInbox is the control: without the inbox, the audit finds repeated effects.
//
//leat:level 4
func TestI1_StormSeesWithoutInbox(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "consumer processes")
	const messages = 200
	s := newStorm(t, messages, 3, true)
	s.run()
	double, lost := s.audit(messages)
	require.Equal(t, fmt.Sprint(messages, 0), fmt.Sprint(double, lost))
}
