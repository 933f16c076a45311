package debezium_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/testenv/keyload"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/adopt"
	"github.com/leat-go/leat/outbox/debezium"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// handoffOfLeatsTable goes from Debezium on leat's own table to a relay, and back.
func (r *realDebezium) handoffOfLeatsTable(t *testing.T) {
	db := r.server.Database(t, migrated())
	topic := r.broker.Topic(t, "handoff-own", 4)
	exec(t, db, publishLeat)
	config := leatConnector(t, db)
	config["slot.name"] = "leat_handoff"
	exec(t, db, createSlot, config["slot.name"])
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	r.handoff(t, db, topic, config, nil, func(ctx context.Context, tx pgx.Tx, events []keyload.Event) error {
		messages := make([]outbox.Message, len(events))
		for i, e := range events {
			messages[i] = outbox.Message{ID: e.ID, Topic: topic, Key: e.Key, Payload: e.Payload()}
		}
		return ob.Enqueue(ctx, tx, messages...)
	})
}

// handoffOfAnyTable does the same with Debezium's standard table, whose producers delete their rows.
func (r *realDebezium) handoffOfAnyTable(t *testing.T) {
	db := r.server.Database(t, migrated())
	topic := r.broker.Topic(t, "handoff-any", 4)
	exec(t, db, standard)
	config := anyConnector(db, topic)
	config["slot.name"] = "any_handoff"
	cfg, _, err := debezium.FromConnector(config)
	require.NoError(t, err)
	table, err := adopt.New(db.Pool, cfg)
	require.NoError(t, err)
	r.handoff(t, db, topic, config, table, func(ctx context.Context, tx pgx.Tx, events []keyload.Event) error {
		for _, e := range events {
			_, err := tx.Exec(ctx, `INSERT INTO outbox VALUES ($1, 'order', $2, 'counted', $3::text::jsonb)`, e.ID, e.Key, string(e.Payload()))
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, "DELETE FROM outbox WHERE id = $1", e.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// handoff goes from a connector to a relay and back while writers insert, and looks at what
// a consumer got.
func (r *realDebezium) handoff(t *testing.T, db *testenv.Database, topic string, config map[string]string, table *adopt.Table, insert keyload.Insert) {
	t.Helper()
	_, slotConfig, err := debezium.FromConnector(config)
	require.NoError(t, err)
	slot, err := debezium.NewSlot(db.Pool, slotConfig)
	require.NoError(t, err)
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	h, err := debezium.NewHandoff(ob, slot, debezium.HandoffConfig{Table: table, Actor: "a test", Reason: "retire Connect"})
	require.NoError(t, err)

	before, after := slotConfig.Slot+"-before", slotConfig.Slot+"-after"
	r.start(t, before, config)
	slotted(t, db, slotConfig.Slot)
	writers := keyload.Start(t, db.Pool, insert)
	writers.Load(t, 100)

	position, err := h.Prepare(t.Context())
	require.NoError(t, err)
	writers.Load(t, 20)
	require.NoError(t, h.AwaitConnector(t.Context(), position))
	require.ErrorIs(t, slot.Drop(t.Context()), debezium.ErrConnectorRunning)
	r.stop(t, before)
	stopRelay := relaying(t, r, ob)
	eventually(t, "the slot stays in use", func() bool { return slot.Drop(t.Context()) == nil })
	writers.Load(t, 100)

	_, err = h.Prepare(t.Context())
	require.ErrorIs(t, err, debezium.ErrNoSlot, "there is no connector to go on from")
	require.NoError(t, h.PrepareConnector(t.Context()))
	_, err = h.Prepare(t.Context())
	require.ErrorIs(t, err, debezium.ErrRelayRunning)
	writers.Load(t, 20)
	require.NoError(t, h.AwaitRelay(t.Context()))
	stopRelay()
	r.start(t, after, config)
	writers.Load(t, 100)
	keyload.Judge(t, r.broker.Brokers, topic, writers.End(t), idOf, r.worker.Log)
	r.stop(t, after)
	t.Logf("%s: %s", t.Name(), writers)
}

// idOf is the id that an inbox finds.
func idOf(record *kgo.Record) (string, error) {
	msg, err := kafkasource.Unmarshal(record)
	if err != nil {
		return "", err
	}
	return inbox.IDFromHeader(outbox.HeaderEventID, "id").Find(msg)
}

// relaying runs a relay, until what it returns is called.
func relaying(t *testing.T, r *realDebezium, ob *pgoutbox.Outbox) (stop func()) {
	t.Helper()
	source, err := ob.Source(pgoutbox.SourceConfig{})
	require.NoError(t, err)
	sink, err := kafkasink.New(r.broker.Brokers, kafkasink.Config{})
	require.NoError(t, err)
	relays, err := relay.New(source, sink, relay.Config{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- relays.Run(ctx) }()
	return func() {
		cancel()
		require.NoError(t, <-ended)
		require.NoError(t, sink.Close())
	}
}
