package benchmarks

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/load"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// BenchmarkByHandLife measures the whole life of events, ten a transaction of eight writers: enqueue,
// relay to a destination that takes all at once, mark, and clean up, by maintenance or by the nightly
// DELETE and a VACUUM. It reports events a second, and for each event the bytes of write-ahead log
// (WAL-B/event), and what is left of it: dead rows before the VACUUM (dead/event) and the table and
// its indexes at the end (left-B/event). Autovacuum is off, so that nothing comes between.
func BenchmarkByHandLife(b *testing.B) {
	size := scale(b).life
	server := testenv.PrivatePostgres(b, testenv.PostgresOptions{
		Settings: map[string]string{"shared_buffers": "256MB", "max_wal_size": "4GB", "autovacuum": "off"},
	})
	const perTx = 10
	messages, err := load.Messages(load.Spec{Messages: size.transactions * perTx, Bytes: 16, Keys: 10_000, Topic: "orders"})
	require.NoError(b, err)
	for i := range messages {
		messages[i].Payload = fmt.Appendf(nil, `{"order": %q, "note": "%0440d"}`, messages[i].ID, i)
	}
	var costs costs
	contender := func(name, tables string, open func(db *testenv.Database) life) compare.Contender {
		return compare.Contender{Name: name, Ops: len(messages), Run: func(int) (time.Duration, error) {
			db := server.Database(b, migrated())
			defer db.Pool.Close()
			logSettings(b, db, nil)
			kept := store{tables: tables}
			_, err := db.Pool.Exec(b.Context(), "CREATE EXTENSION IF NOT EXISTS pgstattuple")
			require.NoError(b, err)
			l := open(db)
			first := costs.take(b, db, kept)
			took, err := l.run(b.Context(), db, messages, perTx)
			if err != nil {
				return 0, err
			}
			last, events := costs.take(b, db, kept), float64(len(messages))
			costs.add(name, "WAL-B/event", float64(last.wal-first.wal)/events)
			costs.add(name, "dead/event", float64(l.dead)/events)
			costs.add(name, "left-B/event", float64(last.tables+last.indexes)/events)
			return took, nil
		}}
	}
	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "msg/s",
		contender("leat", `^outbox_`, leatLife(b)), contender("by-hand", "^by_hand$", handLife(b)))
	b.StopTimer()
	costs.report(b)
}

// life is what keeps events, and what happens to them.
type life struct {
	enqueue transaction
	relay   func(ctx context.Context, want int) error
	clean   func(ctx context.Context) error
	tables  string // a pattern of their names, for dead rows
	tidy    string // a statement behind clean

	dead int64
}

func (l *life) run(ctx context.Context, db *testenv.Database, messages []outbox.Message, perTx int) (time.Duration, error) {
	began := time.Now()
	_, err := concurrently(ctx, 8, len(messages)/perTx, func(ctx context.Context, i int) error {
		return l.enqueue(ctx, db, messages[i*perTx:(i+1)*perTx])
	})
	if err != nil {
		return 0, fmt.Errorf("enqueue: %w", err)
	}
	if err := l.relay(ctx, len(messages)); err != nil {
		return 0, fmt.Errorf("relay: %w", err)
	}
	if err := l.clean(ctx); err != nil {
		return 0, fmt.Errorf("clean up: %w", err)
	}
	took := time.Since(began)
	err = db.Pool.QueryRow(ctx, `SELECT coalesce(sum((pgstattuple(c.oid)).dead_tuple_count), 0)
		FROM pg_class c WHERE c.relkind = 'r' AND c.relname ~ $1`, l.tables).Scan(&l.dead)
	if err != nil || l.tidy == "" {
		return took, err
	}
	began = time.Now()
	_, err = db.Pool.Exec(ctx, l.tidy)
	return took + time.Since(began), err
}

// taken is a destination that takes all.
type taken struct{}

// Borrows implements driver.Borrower.
func (taken) Borrows() {}

// Send implements driver.Sink.
func (taken) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	return make([]outbox.Result, len(records))
}

func leatLife(b *testing.B) func(db *testenv.Database) life {
	b.Helper()
	return func(db *testenv.Database) life {
		ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
		require.NoError(b, err)
		m, err := pgoutbox.NewMaintenance(ob, pgoutbox.MaintenanceConfig{MaxBytes: 1}) // all that was sent may go
		require.NoError(b, err)
		clean := func(ctx context.Context) error {
			for {
				report, err := m.RunOnce(ctx)
				if err != nil || len(report.Closed)+len(report.Dropped) == 0 {
					return err
				}
			}
		}
		return life{
			tables: `^outbox_`,
			enqueue: func(ctx context.Context, _ *testenv.Database, messages []outbox.Message) error {
				return ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error { return ob.Enqueue(ctx, tx, messages...) })
			},
			relay: func(ctx context.Context, want int) error {
				source, err := ob.Source(pgoutbox.SourceConfig{})
				if err != nil {
					return err
				}
				r, err := relay.New(source, taken{}, relay.Config{})
				if err != nil {
					return err
				}
				got, err := r.RunOnce(ctx)
				if err == nil && got != want {
					err = fmt.Errorf("relayed %d messages, want %d", got, want)
				}
				return err
			},
			clean: clean,
		}
	}
}

// Statements of a poller as the usual articles show it.
const (
	pollByHand = `SELECT id, aggregate_type, aggregate_id, payload FROM by_hand
		WHERE sent_at IS NULL ORDER BY created_at LIMIT 1000 FOR UPDATE SKIP LOCKED`
	markByHand  = "UPDATE by_hand SET sent_at = now() WHERE id = ANY($1)"
	cleanByHand = "DELETE FROM by_hand WHERE sent_at IS NOT NULL"
)

func handLife(b *testing.B) func(db *testenv.Database) life {
	b.Helper()
	return func(db *testenv.Database) life {
		_, err := db.Pool.Exec(b.Context(), byHand)
		require.NoError(b, err)
		return life{
			tables: "^by_hand$", tidy: "VACUUM by_hand",
			enqueue: func(ctx context.Context, db *testenv.Database, messages []outbox.Message) error {
				return pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error { return insertByHand(ctx, tx, messages...) })
			},
			relay: func(ctx context.Context, want int) error {
				for sent := 0; sent < want; {
					err := pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
						n, err := relayByHand(ctx, tx)
						if sent += n; err == nil && n == 0 {
							err = fmt.Errorf("relayed %d messages, want %d", sent, want)
						}
						return err
					})
					if err != nil {
						return err
					}
				}
				return nil
			},
			clean: func(ctx context.Context) error {
				_, err := db.Pool.Exec(ctx, cleanByHand)
				return err
			},
		}
	}
}

// relayByHand sends a page to a destination that takes all, and marks it.
func relayByHand(ctx context.Context, tx pgx.Tx) (int, error) {
	rows, err := tx.Query(ctx, pollByHand)
	if err != nil {
		return 0, err
	}
	var (
		ids        [][16]byte
		id         [16]byte
		topic, key string
		payload    []byte
	)
	_, err = pgx.ForEachRow(rows, []any{&id, &topic, &key, &payload}, func() error {
		ids = append(ids, id)
		return nil
	})
	if err == nil && len(ids) > 0 {
		_, err = tx.Exec(ctx, markByHand, ids)
	}
	return len(ids), err
}
