package adopt_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/testenv/keyload"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/adopt"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// shape is a table of testdata/shapes.sql with its service: how producers insert, and what the old worker sends of a row.
type shape struct {
	table, says string
	cfg         adopt.Config // what its columns do not tell
	insert      string       // of id, key, payload
	rows        string       // what the worker selects of those that are pending
	sent        string       // what it sets
	message     func(row pgx.CollectableRow) (keyload.Arrival, any, error)
	ordered     bool
	// comparable turns a payload into one that can be compared.
	comparable func(payload string) string
}

// routed is a table of the shape with two columns of types.
func routed(table string) shape {
	return shape{
		table: table, says: "a type and a subtype",
		insert: `INSERT INTO ` + table + ` (id, idempotency_key, payload, headers, created_at, event_type, event_subtype)
			VALUES ($1::uuid, 'of ' || $1::uuid || $2::text, $3::text::jsonb, '{"traceparent": "00-1", "attempt": 1}', clock_timestamp(), 'Order', 'Paid')`,
		rows: "id, event_type, event_subtype, payload, headers FROM " + table + " WHERE status IN ('NEW', 'RETRYING') ORDER BY created_at",
		sent: "status = 'PUBLISHED', published_at = now()",
		message: func(row pgx.CollectableRow) (a keyload.Arrival, key any, err error) {
			var id uuid.UUID
			var kind, subtype string
			var headers map[string]any
			var payload json.RawMessage
			err = row.Scan(&id, &kind, &subtype, &payload, &headers)
			a = keyload.Arrival{ID: id.String(), Topic: strings.ToLower(kind) + "." + strings.ToLower(subtype), Payload: string(payload)}
			a.Headers = map[string]string{"traceparent": headers["traceparent"].(string), "attempt": "1"}
			return a, id, err
		},
	}
}

func shapes() []shape {
	return []shape{
		{
			table: "helpdesk_outbox", says: "an envelope", cfg: adopt.Config{Topic: "'helpdesk'"}, ordered: true,
			insert: "INSERT INTO helpdesk_outbox (event_id, aggregate, aggregate_id, event_type, payload) VALUES ($1, 'ticket', $2, 'opened', $3::text::jsonb)",
			rows:   "event_id, aggregate_id, event_type, payload, created_at FROM helpdesk_outbox WHERE status = 'pending' ORDER BY id",
			sent:   "status = 'sent', sent_at = now()",
			message: func(row pgx.CollectableRow) (a keyload.Arrival, key any, err error) {
				var e struct {
					EventID    uuid.UUID       `json:"eventId"`
					Type       string          `json:"type"`
					OccurredAt time.Time       `json:"occurredAt"`
					Data       json.RawMessage `json:"data"`
				}
				err = row.Scan(&e.EventID, &a.Key, &e.Type, &e.Data, &e.OccurredAt)
				e.OccurredAt = e.OccurredAt.UTC()
				text, _ := json.Marshal(e)
				a.ID, a.Topic, a.Payload = e.EventID.String(), "helpdesk", string(text)
				a.Headers = map[string]string{"eventType": e.Type, "schemaVersion": "1"}
				return a, e.EventID, err
			},
			comparable: func(payload string) string {
				var v any
				_ = json.Unmarshal([]byte(payload), &v)
				text, _ := json.Marshal(v)
				return string(text)
			},
		},
		routed("order_outbox"), routed("payment_event_outbox"),
		{
			table: "outbox", says: "a payload of an aggregate", cfg: adopt.Config{Topic: "'orders'", Done: "status = 'PROCESSED'"}, ordered: true,
			insert: "INSERT INTO outbox (id, aggregate_id, payload, created_at) VALUES ($1, uuid_in(md5($2)::cstring), $3::text::jsonb, clock_timestamp())",
			rows:   "id, aggregate_id, payload FROM outbox WHERE status = 'PENDING' ORDER BY created_at",
			sent:   "status = 'PROCESSED'",
			message: func(row pgx.CollectableRow) (a keyload.Arrival, key any, err error) {
				var id, aggregate uuid.UUID
				var payload json.RawMessage
				err = row.Scan(&id, &aggregate, &payload)
				return keyload.Arrival{ID: id.String(), Topic: "orders", Key: aggregate.String(), Payload: string(payload)}, id, err
			},
		},
		{
			table: "openoutbox_events", says: "Open Outbox", ordered: true,
			insert: `INSERT INTO openoutbox_events (event_id, event_type, partition_key, payload, headers, created_at)
				VALUES ($1, 'order.paid', $2, convert_to($3, 'UTF8'), '{"schemaVersion": "2"}', clock_timestamp())`,
			rows: "event_id, event_type, partition_key, payload, headers FROM openoutbox_events WHERE status = 'PENDING' AND available_at <= now() ORDER BY created_at",
			sent: "status = 'DELIVERED', delivered_at = now()",
			message: func(row pgx.CollectableRow) (a keyload.Arrival, key any, err error) {
				var id uuid.UUID
				var payload []byte
				err = row.Scan(&id, &a.Topic, &a.Key, &payload, &a.Headers)
				a.ID, a.Payload = id.String(), string(payload)
				return a, id, err
			},
		},
		{
			table: "outbox_events", says: "the aggregate's type", ordered: true,
			insert: "INSERT INTO outbox_events (aggregate_type, aggregate_id, event_type, payload) SELECT 'order', $2, 'paid', $3::text::jsonb WHERE $1 <> ''",
			rows:   "id, aggregate_type, aggregate_id, payload FROM outbox_events WHERE sent_at IS NULL ORDER BY id",
			sent:   "sent_at = now()",
			message: func(row pgx.CollectableRow) (a keyload.Arrival, key any, err error) {
				var id int64
				var payload json.RawMessage
				err = row.Scan(&id, &a.Topic, &a.Key, &payload)
				text, _ := json.Marshal(id)
				a.ID, a.Payload = string(text), string(payload)
				return a, id, err
			},
		},
	}
}

// TestO1_SixTables are taken over under load, while the old worker runs and a job deletes what it has sent, and given back:
// nothing is lost, and each message is what the old worker sends.
func TestO1_SixTables(t *testing.T) {
	t.Parallel()
	for _, s := range shapes() {
		t.Run(s.table, func(t *testing.T) {
			t.Parallel()
			db := shaped(t)
			table := recognized(t, db, withTable(s.cfg, s.table))
			_, shape, err := table.Recognize(t.Context())
			require.NoError(t, err)
			require.Contains(t, shape, s.says)
			var broker keyload.Stream
			writers := keyload.Start(t, db.Pool, func(ctx context.Context, tx pgx.Tx, events []keyload.Event) error {
				for _, e := range events {
					if _, err := tx.Exec(ctx, s.insert, e.ID, e.Key, string(e.Payload())); err != nil {
						return err
					}
				}
				return nil
			})
			writers.Load(t, 50)
			plan, err := table.Plan(t.Context())
			require.NoError(t, err)
			require.GreaterOrEqual(t, plan.Pending, int64(50))

			stopWorker := s.work(t, db, &broker)
			require.NoError(t, table.Adopt(t.Context()))
			stopRelay := relaying(t, db, s, &broker)
			writers.Load(t, 50)
			stopWorker()
			writers.Load(t, 50)

			require.NoError(t, table.Release(t.Context()))
			stopWorker = s.work(t, db, &broker)
			writers.Load(t, 50)
			committed := writers.End(t)
			repeats := broker.Judge(t, committed, "leat", s.ordered)
			require.Eventually(t, func() bool {
				var left int
				require.NoError(t, db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM (SELECT "+s.rows+") AS r").Scan(&left))
				return left == 0
			}, time.Minute, 10*time.Millisecond, "the old worker has no more to do")
			stopWorker()
			stopRelay()
			require.Positive(t, repeats, "both have sent some")
		})
	}
}

// shaped is a database with leat's outbox and the tables of testdata.
func shaped(t *testing.T) *testenv.Database {
	t.Helper()
	db := testenv.Postgres(t, migrated())
	text, err := os.ReadFile("testdata/shapes.sql")
	require.NoError(t, err)
	exec(t, db, string(text))
	return db
}

func withTable(cfg adopt.Config, table string) adopt.Config {
	cfg.Table = table
	return cfg
}

// work runs the old worker and the job that deletes, until what it returns is called.
func (s shape) work(t *testing.T, db *testenv.Database, broker *keyload.Stream) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	id, _, _ := strings.Cut(s.rows, ",")
	turn := func() error {
		return pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
			rows, err := tx.Query(ctx, "SELECT "+s.rows+" LIMIT 20 FOR UPDATE SKIP LOCKED")
			if err != nil {
				return err
			}
			var ids []any
			all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (keyload.Arrival, error) {
				a, id, err := s.message(row)
				ids = append(ids, id)
				return a, err
			})
			if err != nil {
				return err
			}
			for i, a := range all {
				s.arrive(broker, "worker", a)
				if _, err := tx.Exec(ctx, "UPDATE "+s.table+" SET "+s.sent+" WHERE "+id+" = $1", ids[i]); err != nil {
					return err
				}
			}
			_, err = tx.Exec(ctx, "DELETE FROM "+s.table+" WHERE "+id+"::text < '7' AND "+
				strings.NewReplacer(", ", " AND ", "_at = now()", "_at IS NOT NULL").Replace(s.sent))
			return err
		})
	}
	turns := time.NewTicker(10 * time.Millisecond)
	go func() {
		defer turns.Stop()
		for {
			select {
			case <-ctx.Done():
				ended <- nil
				return
			case <-turns.C:
			}
			if err := turn(); err != nil && ctx.Err() == nil {
				ended <- err
				return
			}
		}
	}()
	return func() {
		cancel()
		require.NoError(t, <-ended)
	}
}

func (s shape) arrive(broker *keyload.Stream, from string, a keyload.Arrival) {
	a.From = from
	if s.comparable != nil {
		a.Payload = s.comparable(a.Payload)
	}
	var e struct {
		Key    string
		Number int64
		Data   json.RawMessage
	}
	_ = json.Unmarshal([]byte(a.Payload), &e) // what is none is made up, to the judge
	if e.Data != nil {
		_ = json.Unmarshal(e.Data, &e)
	}
	a.Event = keyload.Event{Key: e.Key, Number: e.Number}
	broker.Add(a)
}

// relaying runs a relay, until what it returns is called.
func relaying(t *testing.T, db *testenv.Database, s shape, broker *keyload.Stream) (stop func()) {
	t.Helper()
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	source, err := ob.Source(pgoutbox.SourceConfig{Start: driver.Start{Oldest: true}})
	require.NoError(t, err)
	sink, err := relay.Func(func(_ context.Context, r outbox.Record) error {
		s.arrive(broker, "leat", keyload.Arrival{ID: r.ID, Topic: r.Topic, Key: r.Key, Payload: string(r.Payload), Headers: r.Headers})
		return nil
	}, relay.FuncConfig{})
	require.NoError(t, err)
	relays, err := relay.New(source, sink, relay.Config{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- relays.Run(ctx) }()
	return func() {
		cancel()
		require.NoError(t, <-ended)
	}
}
