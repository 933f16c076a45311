package benchmarks

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/results"
	"github.com/leat-go/leat/benchmarks/internal/rival"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// debeziumSize is how much the benchmarks beside Debezium do: messages of a backlog,
// rounds of it, and the loads of the latency and of the sweeps.
type debeziumSize struct {
	messages, rounds int
	latency          latencySize
	sweep            size
}

// beside is Debezium, with the servers that it shares with leat.
type beside struct {
	*rival.Debezium

	broker *testenv.KafkaEnv
	// db is leat's. Debezium's is another database of the server: it has to read the
	// log of all, but does not have to decode what leat writes.
	db *testenv.Database
	// topic is leat's, and rivalTopic Debezium's.
	topic, rivalTopic string
}

// besideDebezium starts a server whose log Debezium can read, and the connector, which
// is stopped.
func besideDebezium(b *testing.B, cfg rival.DebeziumConfig) *beside {
	b.Helper()
	broker := testenv.RealKafka(b)
	server := testenv.PrivatePostgres(b, testenv.PostgresOptions{
		Settings: map[string]string{"wal_level": "logical", "shared_buffers": "256MB", "max_wal_size": "4GB"},
	})
	s := &beside{
		broker: broker, db: server.Database(b, migrated()),
		topic: broker.Topic(b, "leat", 8), rivalTopic: broker.Topic(b, "debezium", 8),
	}
	logSettings(b, s.db, broker)
	var err error
	s.Debezium, err = rival.NewDebezium(b.Context(), server.Database(b).Pool, broker.Brokers, s.rivalTopic, cfg)
	testenv.Available(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	results.Uses(b, results.Server{Name: "Debezium", Version: s.Version(), Settings: cfg.Tuning()})
	b.Logf("Debezium %s, %s", s.Version(), cfg)
	return s
}

// afresh returns messages with other ids, so that those of a round are no others.
func afresh(messages []outbox.Message) ([]outbox.Message, error) {
	fresh := make([]outbox.Message, len(messages))
	for i := range messages {
		id, err := uuid.NewV7()
		if err != nil {
			return nil, err
		}
		fresh[i] = messages[i]
		fresh[i].ID = id.String()
	}
	return fresh, nil
}

// warmUps is how often all is carried before the first round: the Java runtime of a
// connector that has just started carries a third of what it does later.
func warmUps() int {
	if *scaleName == scaleCI {
		return 1
	}
	return 3
}
