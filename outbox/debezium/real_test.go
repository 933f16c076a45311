package debezium_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/testenv/connect"
)

// realDebezium is a Debezium, with the servers between which it works.
type realDebezium struct {
	server *testenv.PostgresServer
	broker *testenv.KafkaEnv
	worker *connect.Worker
}

// TestDebezium runs all tests that need a real Debezium on one worker.
//
//leat:level 4
func TestDebezium(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts a worker of Kafka Connect")
	r := &realDebezium{
		broker: testenv.RealKafka(t),
		server: testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{"fsync": "off", "wal_level": "logical"}}),
	}
	r.worker = connect.ForTest(t, r.broker.Brokers)
	// One after the other: a slot cannot be made while others write, and a worker that
	// streams for three is slow.
	t.Run("LeatsOwnTable", r.leatsOwnTable)             //nolint:paralleltest // they take turns
	t.Run("AnyOutbox", r.anyOutbox)                     //nolint:paralleltest // they take turns
	t.Run("HandoffOfLeatsTable", r.handoffOfLeatsTable) //nolint:paralleltest // they take turns
	t.Run("HandoffOfAnyTable", r.handoffOfAnyTable)     //nolint:paralleltest // they take turns
}

// leatConnector is the configuration that the documentation has for leat's own table, with
// the addresses of db.
func leatConnector(t *testing.T, db *testenv.Database) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/debezium/leat-outbox.json")
	require.NoError(t, err)
	var config map[string]string
	require.NoError(t, json.Unmarshal(text, &config))
	maps.Copy(config, address(db))
	return config
}

// anyConnector has the defaults of the connector and of its router, apart from what keeps a
// test short.
func anyConnector(db *testenv.Database, topic string) map[string]string {
	config := map[string]string{
		"connector.class": "io.debezium.connector.postgresql.PostgresConnector", "tasks.max": "1",
		"plugin.name": "pgoutput", "slot.name": "debezium", "snapshot.mode": "no_data", "topic.prefix": "any",
		"publication.autocreate.mode": "filtered", "table.include.list": "public.outbox", "poll.interval.ms": "10",
		"transforms": "outbox", "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
		"transforms.outbox.route.topic.replacement":           topic,
		"transforms.outbox.table.fields.additional.placement": "type:header:eventType",
		"key.converter":   "org.apache.kafka.connect.storage.StringConverter",
		"value.converter": "org.apache.kafka.connect.storage.StringConverter",
	}
	maps.Copy(config, address(db))
	return config
}

// address is where a connector finds a database.
func address(db *testenv.Database) map[string]string {
	c := db.Pool.Config().ConnConfig
	return map[string]string{
		"database.hostname": c.Host, "database.port": strconv.Itoa(int(c.Port)), "database.user": c.User,
		"database.password": c.Password, "database.dbname": c.Database, "database.sslmode": "disable",
	}
}

// start configures a connector, which is gone when the test ends, and waits until it runs.
func (r *realDebezium) start(t *testing.T, name string, config map[string]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	require.NoError(t, r.worker.Configure(ctx, name, config))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := r.worker.Delete(ctx, name); err != nil {
			t.Error(err)
		}
	})
	require.NoError(t, r.worker.Await(ctx, name, connect.Running))
}

// stop ends the connector's task.
func (r *realDebezium) stop(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, r.worker.Stop(ctx, name))
	require.NoError(t, r.worker.Await(ctx, name, connect.Stopped))
}

// slotted waits until a connector has its slot, so that what is inserted from then on is sent.
func slotted(t *testing.T, db *testenv.Database, slot string) {
	t.Helper()
	eventually(t, "no connector uses slot "+slot, func() bool {
		var active bool
		err := db.Pool.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = $1 AND active)", slot).Scan(&active)
		require.NoError(t, err)
		return active
	})
}

// eventually looks until what was awaited is there.
func eventually(t *testing.T, missing string, there func() bool) {
	t.Helper()
	every := time.NewTicker(20 * time.Millisecond)
	defer every.Stop()
	for limit := time.After(2 * time.Minute); !there(); {
		select {
		case <-every.C:
		case <-limit:
			require.FailNow(t, missing)
		}
	}
}

// read returns the first n records of topic, in the order of each partition.
func (r *realDebezium) read(t *testing.T, topic string, n int) []*kgo.Record {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(r.broker.Brokers...), kgo.ConsumeTopics(topic))
	require.NoError(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var records []*kgo.Record
	for len(records) < n {
		fetches := client.PollFetches(ctx)
		require.NoError(t, fetches.Err(), "%d records of %d have come\n%s", len(records), n, r.worker.Log())
		records = append(records, fetches.Records()...)
	}
	require.Len(t, records, n)
	return records
}
