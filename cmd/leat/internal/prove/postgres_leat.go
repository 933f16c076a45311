package prove

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/prover"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// pool returns a pool for a probe.
func (p *postgres) pool(t *prover.Trial) *pgxpool.Pool {
	var mine prover.Wires
	pool, err := p.newPool(t.Context(), &mine)
	fail.If(err)
	t.Later(func() {
		mine.CutAll(true)
		pool.Close()
	})
	return pool
}

func (p *postgres) outbox(pool *pgxpool.Pool, table string) (*pgoutbox.Outbox, error) {
	return pgoutbox.New(pool, pgoutbox.Config{Schema: p.schema, Table: table, Logger: slog.New(slog.DiscardHandler)})
}

func (p *postgres) inbox(pool *pgxpool.Pool, table string) (*pginbox.Inbox, error) {
	cfg := pginbox.Config{Schema: p.schema, Table: table}
	cfg.Logger, cfg.BusyDelay = slog.New(slog.DiscardHandler), prover.Between
	return pginbox.New(pool, prover.Consumer, cfg)
}

// claimOnce claims the same ids in several sessions at the same time.
func (p *postgres) claimOnce(t *prover.Trial) {
	pool := p.pool(t)
	s := p.session(t)
	s.do("CREATE TABLE {s}.claimed (id text NOT NULL)")
	in, err := p.inbox(pool, "claims")
	fail.If(err)
	fail.If(refused(in.Migrate(t.Context())))
	prover.ClaimOnce(t, func(msg *message.Message) (inbox.Outcome, error) {
		outcome, err := in.Process(t.Context(), msg, func(ctx context.Context) error {
			_, err := pginbox.Tx(ctx).Exec(ctx, s.sql("INSERT INTO {s}.claimed (id) VALUES ($1)"), msg.UUID)
			return err
		})
		return outcome, refused(err)
	}, func() (rows, ids int) {
		return know[int](s, "SELECT count(*) FROM {s}.claimed"), know[int](s, "SELECT count(DISTINCT id) FROM {s}.claimed")
	})
}

// leatCheck runs leat's own checks of the server, and sends one message.
func (p *postgres) leatCheck(t *prover.Trial) {
	pool := p.pool(t)
	ob, err := p.outbox(pool, "checked")
	fail.If(err)
	fail.If(prover.Said("Migrate", ob.Migrate(t.Context())))
	source, err := ob.Source(pgoutbox.SourceConfig{})
	fail.If(err)
	prover.LeatCheck(t, source, func(m outbox.Message) error {
		return ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error { return ob.Enqueue(ctx, tx, m) })
	})
}

// pgShop is a shop in the scratch schema.
type pgShop struct {
	p     *postgres
	ob    *pgoutbox.Outbox
	in    *pginbox.Inbox
	pool  *pgxpool.Pool
	wires prover.Wires
}

// Shop implements prover.Server.
func (p *postgres) Shop(ctx context.Context) (prover.Shop, error) {
	s := &pgShop{p: p}
	var err error
	if s.pool, err = p.newPool(ctx, &s.wires); err != nil {
		return nil, err
	}
	if err := s.open(ctx); err != nil {
		s.End()
		return nil, err
	}
	return s, nil
}

func (s *pgShop) open(ctx context.Context) (err error) {
	if s.ob, err = s.p.outbox(s.pool, "outbox"); err != nil {
		return err
	}
	if s.in, err = s.p.inbox(s.pool, "inbox"); err != nil {
		return err
	}
	if err := errors.Join(s.ob.Migrate(ctx), s.in.Migrate(ctx)); err != nil {
		return refused(err)
	}
	for _, sql := range []string{
		"CREATE TABLE {s}.keys (name text PRIMARY KEY, version bigint NOT NULL)",
		fmt.Sprintf("INSERT INTO {s}.keys SELECT 'k' || lpad(n::text, 2, '0'), 0 FROM generate_series(0, %d) AS n", prover.Keys-1),
		"CREATE TABLE {s}.ledger (id text PRIMARY KEY, key text NOT NULL, version bigint NOT NULL)",
		"CREATE TABLE {s}.effects (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL, key text NOT NULL)",
	} {
		if _, err := s.pool.Exec(ctx, s.sql(sql)); err != nil {
			return refused(err)
		}
	}
	return nil
}

func (s *pgShop) sql(text string) string { return session{schema: s.p.schema}.sql(text) }

// Produce implements prover.Shop. It draws the number after enqueueing the message, since leat must order the key.
func (s *pgShop) Produce(ctx context.Context, m outbox.Message, hold func(version int64) bool) (history.Type, error) {
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		return history.Aborted, err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if err := s.ob.Enqueue(ctx, tx, m); err != nil {
		return history.Aborted, err
	}
	var version int64
	err = tx.QueryRow(ctx, s.sql("UPDATE {s}.keys SET version = version + 1 WHERE name = $1 RETURNING version"), m.Key).Scan(&version)
	if err == nil {
		_, err = tx.Exec(ctx, s.sql("INSERT INTO {s}.ledger (id, key, version) VALUES ($1, $2, $3)"), m.ID, m.Key, version)
	}
	if err != nil || !hold(version) {
		return history.Aborted, err
	}
	err = tx.Commit(ctx)
	_, answered := errors.AsType[*pgconn.PgError](err)
	switch {
	case err == nil:
		return history.Committed, nil
	case answered, errors.Is(err, pgx.ErrTxCommitRollback):
		return history.Aborted, err
	default:
		return history.Unknown, err
	}
}

// Source implements prover.Shop.
func (s *pgShop) Source(ctx context.Context, w *prover.Wires) (driver.Source, func(), error) {
	pool, err := s.p.newPool(ctx, w)
	if err != nil {
		return nil, nil, err
	}
	end := func() {
		w.CutAll(true)
		pool.Close()
	}
	ob, err := s.p.outbox(pool, "outbox")
	if err != nil {
		end()
		return nil, nil, err
	}
	source, err := ob.Source(pgoutbox.SourceConfig{})
	return source, end, err
}

// Consume implements prover.Shop.
func (s *pgShop) Consume(ctx context.Context, msg *message.Message) (inbox.Outcome, error) {
	return s.in.Process(ctx, msg, func(ctx context.Context) error {
		_, err := pginbox.Tx(ctx).Exec(ctx, s.sql("INSERT INTO {s}.effects (id, key) VALUES ($1, $2)"), msg.UUID, msg.Metadata.Get("key"))
		return err
	})
}

// truly reads in a transaction that has written: a splitter does not send it to a standby.
func (s *pgShop) truly(ctx context.Context, sql string, scan func(rows pgx.CollectableRow) error) error {
	s.pool.Reset() // some connections were cut, which the pool has not noticed
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, s.sql("UPDATE {s}.keys SET version = version WHERE name = 'k00'")); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, s.sql(sql))
		if err != nil {
			return err
		}
		_, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (struct{}, error) { return struct{}{}, scan(r) })
		return err
	})
}

// Truth implements prover.Shop.
func (s *pgShop) Truth(ctx context.Context) (all prover.Truth, err error) {
	err = s.truly(ctx, "SELECT id, key, version FROM {s}.ledger", func(r pgx.CollectableRow) error {
		var row prover.Row
		err := r.Scan(&row.ID, &row.Key, &row.Version)
		all.Ledger = append(all.Ledger, row)
		return err
	})
	if err != nil {
		return all, err
	}
	return all, s.truly(ctx, "SELECT id, key, number FROM {s}.effects", func(r pgx.CollectableRow) error {
		var row prover.Row
		err := r.Scan(&row.ID, &row.Key, &row.Number)
		all.Effects = append(all.Effects, row)
		return err
	})
}

// waits selects messages that no relay has read yet, and held ones; if a relay has never begun, it selects
// all.
const waits = `SELECT id FROM {s}.outbox_pending
UNION SELECT coalesce(id_text, id::text) FROM {s}.outbox_held
UNION SELECT coalesce(id_text, id::text) FROM {s}.outbox WHERE NOT EXISTS (SELECT FROM {s}.outbox_positions)`

// Waiting implements prover.Shop.
func (s *pgShop) Waiting(ctx context.Context, ids []string) (waiting []string, err error) {
	all := map[string]bool{}
	err = s.truly(ctx, waits, func(r pgx.CollectableRow) error {
		var id string
		err := r.Scan(&id)
		all[id] = true
		return err
	})
	for _, id := range ids {
		if all[id] {
			waiting = append(waiting, id)
		}
	}
	return waiting, err
}

// CutOne implements prover.Shop.
func (s *pgShop) CutOne() bool { return s.wires.CutOne() }

// End implements prover.Shop.
func (s *pgShop) End() {
	s.wires.CutAll(true)
	s.pool.Close()
}
