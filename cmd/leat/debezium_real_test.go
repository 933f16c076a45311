package main_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/testenv/connect"
	"github.com/leat-go/leat/internal/testenv/keyload"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// debeziumShop is a database whose producers never stop, and an operator who goes from a real
// Debezium to leat's relay and back by the command alone.
type debeziumShop struct {
	*session

	db     *testenv.Database
	ob     *pgoutbox.Outbox
	worker *connect.Worker
	broker *testenv.KafkaEnv
	topic  string
	config map[string]string
	file   string
}

// TestDebezium_UnderLoad: nothing is lost, made up or out of order, from leat's own table and
// from Debezium's standard one.
//
//leat:level 4
func TestDebezium_UnderLoad(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts a worker of Kafka Connect")
	broker := testenv.RealKafka(t)
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{"fsync": "off", "wal_level": "logical"}})
	worker := connect.ForTest(t, broker.Brokers)
	shop := func(t *testing.T, topic string) *debeziumShop {
		t.Helper()
		db := server.Database(t)
		ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
		require.NoError(t, err)
		require.NoError(t, ob.Migrate(t.Context()))
		s := newSession(t, db.URL)
		s.env = append(s.env, "LEAT_KAFKA_BROKERS="+broker.Brokers[0])
		return &debeziumShop{session: s, db: db, ob: ob, worker: worker, broker: broker, topic: broker.Topic(t, topic, 4)}
	}
	// One after the other: a slot cannot be made while others write.
	t.Run("leat's own table", func(t *testing.T) { //nolint:paralleltest // they take turns
		s := shop(t, "own")
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", "debezium", "leat-outbox.json"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &s.config))
		s.exec("CREATE PUBLICATION leat FOR TABLE leat.outbox WITH (publish = 'insert', publish_via_partition_root = true)")
		s.exec("SELECT pg_create_logical_replication_slot('leat_debezium', 'pgoutput')")
		s.handoff(func(ctx context.Context, tx pgx.Tx, events []keyload.Event) error {
			messages := make([]outbox.Message, len(events))
			for i, e := range events {
				messages[i] = outbox.Message{ID: e.ID, Topic: s.topic, Key: e.Key, Payload: e.Payload()}
			}
			return s.ob.Enqueue(ctx, tx, messages...)
		})
	})
	t.Run("the standard table", func(t *testing.T) { //nolint:paralleltest // they take turns
		s := shop(t, "standard")
		s.exec(`CREATE TABLE outbox (id uuid PRIMARY KEY, aggregatetype varchar(255) NOT NULL, aggregateid varchar(255) NOT NULL,
			type varchar(255) NOT NULL, payload jsonb)`)
		s.config = map[string]string{
			"connector.class": "io.debezium.connector.postgresql.PostgresConnector", "tasks.max": "1",
			"plugin.name": "pgoutput", "slot.name": "standard", "snapshot.mode": "no_data", "topic.prefix": "standard",
			"publication.autocreate.mode": "filtered", "table.include.list": "public.outbox", "poll.interval.ms": "1",
			"value.converter":        "org.apache.kafka.connect.storage.StringConverter",
			"transforms":             "outbox",
			"transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
			"transforms.outbox.route.topic.replacement": s.topic,
		}
		s.handoff(func(ctx context.Context, tx pgx.Tx, events []keyload.Event) error {
			for _, e := range events { // as many producers do, the row is gone at once
				_, err := tx.Exec(ctx, `INSERT INTO outbox VALUES ($1, 'order', $2, 'counted', $3::text::jsonb)`, e.ID, e.Key, string(e.Payload()))
				if err == nil {
					_, err = tx.Exec(ctx, "DELETE FROM outbox WHERE id = $1", e.ID)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// handoff does what docs/debezium.md has for an operator, both ways.
func (s *debeziumShop) handoff(insert keyload.Insert) {
	s.t.Helper()
	address := s.db.Pool.Config().ConnConfig
	maps.Copy(s.config, map[string]string{
		"database.hostname": address.Host, "database.port": strconv.Itoa(int(address.Port)), "database.user": address.User,
		"database.password": address.Password, "database.dbname": address.Database, "database.sslmode": "disable",
	})
	text, err := json.Marshal(s.config)
	require.NoError(s.t, err)
	s.file = filepath.Join(s.t.TempDir(), "connector.json")
	require.NoError(s.t, os.WriteFile(s.file, text, 0o600))
	slot := s.config["slot.name"]

	stopBefore := s.connector(slot + "-before")
	writers := keyload.Start(s.t, s.db.Pool, insert)
	writers.Load(s.t, 100)
	s.step("to-leat")
	require.Equal(s.t, 1, s.leat(s.flags("drop-slot")...).code, "the connector uses it")
	stopBefore()
	stopRelay := s.relay()
	require.Eventually(s.t, func() bool { return s.leat(s.flags("drop-slot")...).code == 0 }, patience, time.Millisecond)
	writers.Load(s.t, 100)

	s.step("from-leat")
	stopRelay()
	stopAfter := s.connector(slot + "-after")
	writers.Load(s.t, 100)
	keyload.Judge(s.t, s.broker.Brokers, s.topic, writers.End(s.t), idOf, s.worker.Log)
	stopAfter()
	s.t.Log(writers)
}

func (s *debeziumShop) flags(step string) []string {
	return []string{"debezium", step, "--connector", s.file, "--reason", "a test", "--yes"}
}

func (s *debeziumShop) step(name string) {
	s.t.Helper()
	r := s.leat(s.flags(name)...)
	require.Zero(s.t, r.code, "%s%s", r.out, r.err)
}

// connector runs a connector that uses its slot, until stop is called.
func (s *debeziumShop) connector(name string) (stop func()) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	s.t.Cleanup(cancel)
	require.NoError(s.t, s.worker.Configure(ctx, name, s.config))
	s.t.Cleanup(func() {
		if err := s.worker.Delete(context.Background(), name); err != nil {
			s.t.Error(err)
		}
	})
	require.NoError(s.t, s.worker.Await(ctx, name, connect.Running))
	require.Eventually(s.t, func() (uses bool) {
		err := s.db.Pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = $1 AND active)", s.config["slot.name"]).Scan(&uses)
		return err == nil && uses
	}, patience, 20*time.Millisecond)
	return func() {
		s.t.Helper()
		ctx, cancel := context.WithTimeout(s.t.Context(), patience)
		defer cancel()
		require.NoError(s.t, s.worker.Stop(ctx, name))
		require.NoError(s.t, s.worker.Await(ctx, name, connect.Stopped))
	}
}

// relay runs leat relay, until stop is called.
func (s *debeziumShop) relay() (stop func()) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), os.Getenv(binaryVariable), "relay", "--listen", "none")
	cmd.Env = s.env
	require.NoError(s.t, cmd.Start())
	return func() {
		s.t.Helper()
		require.NoError(s.t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(s.t, cmd.Wait())
	}
}

func (s *debeziumShop) exec(sql string) {
	s.t.Helper()
	_, err := s.db.Pool.Exec(s.t.Context(), sql)
	require.NoError(s.t, err)
}

// idOf is the id that an inbox finds.
func idOf(record *kgo.Record) (string, error) {
	msg, err := kafkasource.Unmarshal(record)
	if err != nil {
		return "", err
	}
	return inbox.IDFromHeader(outbox.HeaderEventID, "id").Find(msg)
}
