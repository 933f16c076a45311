package pginbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	inboxadmin "github.com/leat-go/leat/inbox/admin"
	inboxdriver "github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// store is the database of a service.
type store struct {
	db      *sql.DB
	admin   admin.Manager
	inboxes inboxadmin.Inbox // nil if it parks nothing
	put     func(ctx context.Context, m outbox.Message) error
	source  func(g group) (driver.Source, error)
	inbox   func(consumer string, m manner) (in *inbox.Processor, scope func(ctx context.Context) (string, error), err error)
	// effect writes in the transaction of a delivery.
	effect func(ctx context.Context, table, id string) error
	// listed returns the effects in a table, in their order. It is nil if they are in db.
	listed func(ctx context.Context, table string) ([]string, error)
	// maintain runs until ctx ends.
	maintain func(ctx context.Context) error
	// marks are those of the groups of consumers, nil for none.
	marks inboxdriver.Marker
	// ranges lets the inbox remember ids in ranges from now on, nil if it cannot.
	ranges func(ctx context.Context) error
}

// opener opens a database for one test.
type opener func(t *testing.T, log *slog.Logger) store

// manner configures how a consumer takes messages.
type manner struct {
	inbox.Config

	batches, cached, onSQL bool
}

func onPostgres(t *testing.T, log *slog.Logger) store {
	t.Helper()
	env := testenv.Postgres(t, template)
	s, _ := storeOf(t, log, env.Pool, env.SQL(t), "")
	return s
}

func storeOf(t *testing.T, log *slog.Logger, pool *pgxpool.Pool, db *sql.DB, schema string) (store, *pgoutbox.Outbox) {
	t.Helper()
	ob, err := pgoutbox.New(pool, pgoutbox.Config{Schema: schema, Logger: log})
	require.NoError(t, err)
	require.NoError(t, ob.Migrate(t.Context()))
	m, err := pgoutbox.NewMaintenance(ob, pgoutbox.MaintenanceConfig{})
	require.NoError(t, err)
	ranges, err := pginbox.NewMaintenance(pool, pginbox.Config{Schema: schema, Config: inbox.Config{Logger: log}}, pginbox.MaintenanceConfig{})
	require.NoError(t, err)
	inboxes, err := pginbox.NewAdmin(pool, pginbox.Config{Schema: schema})
	require.NoError(t, err)
	return store{
		db: db, admin: ob.Admin(), inboxes: inboxes, maintain: m.Run, ranges: ranges.Enable,
		put: func(ctx context.Context, m outbox.Message) error {
			return ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error { return ob.Enqueue(ctx, tx, m) })
		},
		source: func(g group) (driver.Source, error) {
			return ob.Source(pgoutbox.SourceConfig{Group: g.Name, Slots: g.Slots, Start: g.Start, Topics: g.Topics, SyncPositions: g.Positions})
		},
		inbox: func(consumer string, m manner) (*inbox.Processor, func(context.Context) (string, error), error) {
			cfg := pginbox.Config{Schema: schema, Config: m.Config}
			in, err := pginbox.New(pool, consumer, cfg)
			if m.onSQL {
				in, err = pginbox.NewSQL(db, consumer, cfg)
			}
			if err != nil {
				return nil, nil, err
			}
			return in.Processor, in.Scope, nil
		},
		effect: func(ctx context.Context, table, id string) (err error) {
			if tx := pginbox.SQLTx(ctx); tx != nil {
				_, err = tx.ExecContext(ctx, "INSERT INTO "+table+" (id) VALUES ($1)", id)
				return err
			}
			_, err = pginbox.Tx(ctx).Exec(ctx, "INSERT INTO "+table+" (id) VALUES ($1)", id)
			return err
		},
	}, ob
}

func onMySQL(t *testing.T, log *slog.Logger) store {
	t.Helper()
	return sqlStoreOf(t, log, sqltest.MySQL(t), outbox.MySQL)
}

func sqlStoreOf(t *testing.T, log *slog.Logger, db *sql.DB, dialect outbox.Dialect) store {
	t.Helper()
	ob, err := sqloutbox.New(db, dialect, sqloutbox.Config{Logger: log})
	require.NoError(t, err)
	require.NoError(t, ob.Migrate(t.Context()))
	in, err := sqlinbox.New(db, dialect, "migrator", sqlinbox.Config{})
	require.NoError(t, err)
	require.NoError(t, in.Migrate(t.Context()))
	m, err := sqloutbox.NewMaintenance(ob, sqloutbox.MaintenanceConfig{})
	require.NoError(t, err)
	inboxes, err := sqlinbox.NewAdmin(db, dialect, sqlinbox.Config{})
	require.NoError(t, err)
	return store{
		db: db, admin: ob.Admin(), inboxes: inboxes, maintain: m.Run,
		put: func(ctx context.Context, m outbox.Message) error {
			return ob.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error { return ob.Enqueue(ctx, tx, m) })
		},
		source: func(g group) (driver.Source, error) {
			return ob.Source(sqloutbox.SourceConfig{Group: g.Name, Start: g.Start, Topics: g.Topics})
		},
		inbox: func(consumer string, m manner) (*inbox.Processor, func(context.Context) (string, error), error) {
			in, err := sqlinbox.New(db, dialect, consumer, sqlinbox.Config{Config: m.Config})
			if err != nil {
				return nil, nil, err
			}
			return in.Processor, nil, nil
		},
		effect: func(ctx context.Context, table, id string) error {
			_, err := sqlinbox.Tx(ctx).ExecContext(ctx, "INSERT INTO "+table+" (id) VALUES (?)", id)
			return err
		},
	}
}

// tables creates the tables of effects. Their row numbers follow the order of the inserts of one key.
func (s *store) tables(ctx context.Context) error {
	if s.listed != nil {
		return nil
	}
	for _, table := range []string{"billed", "shipped"} {
		_, err := s.db.ExecContext(ctx, fmt.Sprintf("CREATE TABLE %s (no SERIAL PRIMARY KEY, id varchar(200) NOT NULL)", table))
		if err != nil {
			return err
		}
	}
	return nil
}

// effectsIn returns the ids in a table, ordered by row number.
func (w *world) effectsIn(table string) (ids []string) {
	w.t.Helper()
	if w.listed != nil {
		ids, err := w.listed(context.Background(), table)
		require.NoError(w.t, err)
		return ids
	}
	rows, err := w.db.QueryContext(context.Background(), "SELECT id FROM "+table+" ORDER BY no")
	require.NoError(w.t, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id string
		require.NoError(w.t, rows.Scan(&id))
		ids = append(ids, id)
	}
	require.NoError(w.t, rows.Err())
	return ids
}

// inboxHolds returns the consumer of each parked message.
func (w *world) inboxHolds() (consumers []string) {
	w.t.Helper()
	if w.inboxes == nil {
		return nil
	}
	parked, err := w.inboxes.Parked(w.t.Context(), inboxadmin.ParkedQuery{OmitPayload: true, Limit: 10_000})
	require.NoError(w.t, err)
	for i := range parked {
		consumers = append(consumers, parked[i].Consumer)
	}
	return consumers
}

// inboxParked waits until at least n messages are parked.
func (w *world) inboxParked(consumer string, n int) {
	w.t.Helper()
	w.await("messages of "+consumer+" are parked", func() bool { return len(w.inboxHolds()) >= n })
}

func (w *world) redriveInbox(consumer string) {
	w.t.Helper()
	_, err := w.inboxes.Redrive(w.t.Context(), inboxadmin.ChangeRequest{By: by(), Consumer: consumer, Selection: inboxadmin.Selection{OfTopic: w.orders}})
	require.NoError(w.t, err)
}
