package pgoutbox_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// envRelayExact makes the relay process deliver exactly once. Its value is the prefix of the transactional
// ids and of the position topic.
const envRelayExact = "LEAT_TEST_RELAY_EXACT"

// exactProcess is the main function of such a process. It ends at SIGTERM.
func exactProcess() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	pool, err := pgxpool.New(ctx, os.Getenv(envRelayDatabase))
	if err != nil {
		return err
	}
	defer pool.Close()
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	if err != nil {
		return err
	}
	src, err := ob.Source(pgoutbox.SourceConfig{SyncPositions: true})
	if err != nil {
		return err
	}
	sink, err := kafkasink.NewTransactional(strings.Split(os.Getenv(envRelayBrokers), ","), exactConfig(os.Getenv(envRelayExact)))
	if err != nil {
		return err
	}
	defer sink.Close()
	cfg := fastTakeover()
	if cfg.Lease, err = time.ParseDuration(os.Getenv(envRelayLease)); err != nil {
		return err
	}
	cfg.Hooks = []outbox.Hook{teller{}, sentTeller{}}
	r, err := relay.New(src, sink, cfg)
	if err != nil {
		return err
	}
	return r.Run(ctx)
}

func exactConfig(prefix string) kafkasink.TransactionalConfig {
	return kafkasink.TransactionalConfig{
		TransactionalIDPrefix: prefix, PositionTopic: prefix + "positions", CreatePositionTopic: true,
	}
}

// sentTeller prints how many records were sent, once the cluster has answered.
type sentTeller struct{}

func (sentTeller) OnRelaySend(_ context.Context, e relay.SendEvent) {
	fmt.Println("sent", len(e.Records))
}

// spawnExact starts a relay process that delivers exactly once.
func (s *stage) spawnExact(environ ...string) *process {
	s.t.Helper()
	return s.spawn(fastTakeover().Lease, append(environ, envRelayExact+"="+s.kafka.Prefix)...)
}

// exactSink returns a transactional sink, and exactSource the source for it.
func (s *stage) exactSink() *kafkasink.Transactional {
	s.t.Helper()
	sink, err := kafkasink.NewTransactional(s.kafka.Brokers, exactConfig(s.kafka.Prefix))
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = sink.Close() }) // it always returns nil
	return sink
}

func (s *stage) exactSource() driver.Source {
	s.t.Helper()
	src, err := s.ob.Source(pgoutbox.SourceConfig{SyncPositions: true})
	require.NoError(s.t, err)
	return src
}

// committed returns what readers of committed records see, once no transaction is open.
func (s *stage) committed() []delivered {
	s.t.Helper()
	// The marks at the end of transactions are read as well, to know the end.
	client, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Brokers...), kgo.ConsumeTopics(s.topics...), kgo.KeepControlRecords(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(50*time.Millisecond), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	require.NoError(s.t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, s.topics...)
	require.NoError(s.t, err)
	left := ends.Offsets()
	left.KeepFunc(func(o kadm.Offset) bool { return o.At > 0 })
	var log []delivered
	for len(left.Sorted()) > 0 {
		fetches := client.PollFetches(ctx)
		require.NoError(s.t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				log = append(log, fromKafka(r))
			}
			left.KeepFunc(func(o kadm.Offset) bool {
				return o.Topic != r.Topic || o.Partition != r.Partition || r.Offset < o.At-1
			})
		})
	}
	return log
}

// requireExact checks that readers of committed records see every message once.
func (s *stage) requireExact() {
	s.t.Helper()
	r := s.audit(s.committed())
	require.Equal(s.t, report{most: 1}, r)
	s.t.Logf("%d messages", s.ledger.size())
}

// finishExact relays the remaining messages, whoever held the lease before.
func (s *stage) finishExact(t *testing.T) {
	t.Helper()
	exec(t, s.db, "UPDATE leat.outbox_leases SET lease_until = clock_timestamp()")
	s.relayOnce(s.exactSource(), s.exactSink(), relay.Config{PageSize: 100})
}
