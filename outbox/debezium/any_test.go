package debezium_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/adopt"
	"github.com/leat-go/leat/outbox/debezium"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// anyOutbox has a connector with its defaults, and leat in its place, send the same row: both
// records have the same key, value, partition and headers of the router's, and the inbox finds the id.
func (r *realDebezium) anyOutbox(t *testing.T) {
	db := r.server.Database(t, migrated())
	topic := r.broker.Topic(t, "any", 8)
	exec(t, db, standard)
	config := anyConnector(db, topic)
	r.start(t, "any", config)
	slotted(t, db, "debezium")
	cfg, _, err := debezium.FromConnector(config)
	require.NoError(t, err)
	table, err := adopt.New(db.Pool, cfg)
	require.NoError(t, err)
	require.NoError(t, table.Adopt(t.Context()))

	id := uuid.NewString()
	tx := begin(t, db)
	must(t, tx, `INSERT INTO outbox VALUES ($1, 'order', '7', 'paid', '{"b": "é", "a": 1}')`, id)
	must(t, tx, "DELETE FROM outbox") // as many producers do
	require.NoError(t, tx.Commit(t.Context()))

	sent := r.read(t, topic, 1)[0]
	r.stop(t, "any")
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	source, err := ob.Source(pgoutbox.SourceConfig{})
	require.NoError(t, err)
	runOnce(t, source, r.broker.Brokers)
	both := r.read(t, topic, 2)
	relayed := both[1]
	require.Equal(t, sent.Partition, relayed.Partition)
	require.Equal(t, string(sent.Key), string(relayed.Key))
	require.Equal(t, string(sent.Value), string(relayed.Value))
	for _, name := range []string{"id", "eventType"} {
		require.Equal(t, header(sent, name), header(relayed, name), name)
	}
	require.Equal(t, id, header(sent, "id"))
	for _, record := range both {
		msg, err := kafkasource.Unmarshal(record)
		require.NoError(t, err)
		found, err := inbox.IDFromHeader(outbox.HeaderEventID, "id").Find(msg)
		require.NoError(t, err)
		require.Equal(t, id, found)
	}
	require.Equal(t, 1, effects(t, both), "an inbox takes what both have sent for one")
}

func header(record *kgo.Record, name string) string {
	i := slices.IndexFunc(record.Headers, func(h kgo.RecordHeader) bool { return h.Key == name })
	if i < 0 {
		return "(none)"
	}
	return string(record.Headers[i].Value)
}
