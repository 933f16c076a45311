package chaos

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
)

// dump records the contents of databases and topics, with plain SQL and a plain client. It returns
// how many receipts were read, and how many of them were repeats.
func (st *stage) dump(ctx context.Context) (receipts, repeats int, err error) {
	w, err := history.Dump(filepath.Join(st.historyDir(), "dump.jsonl"))
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	d := dumper{out: w}
	if err := st.store.dump(ctx, d); err != nil {
		return 0, 0, err
	}
	return d.topics(ctx, st)
}

// dumper writes dumps.
type dumper struct {
	out *history.Writer
}

// each writes line for each row of a query. targets point to its fields.
func (d dumper) each(ctx context.Context, pool *pgxpool.Pool, line *history.Line, targets []any, query string, args ...any) error {
	rows, err := pool.Query(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("dump %s: %w", line.Type, err)
	}
	if _, err := pgx.ForEachRow(rows, targets, func() error { return d.out.Write(*line) }); err != nil {
		return fmt.Errorf("dump %s: %w", line.Type, err)
	}
	return nil
}

func (d dumper) bank(ctx context.Context, pool *pgxpool.Pool) error {
	l := history.Line{Type: history.Ledger}
	err := d.each(ctx, pool, &l, []any{&l.ID, &l.Key, &l.Version, &l.Amount, &l.To},
		`SELECT id, key, version, amount, to_key FROM transfers`)
	if err == nil {
		err = d.out.End(history.Line{Of: history.Ledger})
	}
	if err != nil {
		return err
	}
	return d.balances(ctx, pool, "accounts", "")
}

// balances dumps the accounts in a table.
func (d dumper) balances(ctx context.Context, pool *pgxpool.Pool, table, consumer string) error {
	l := history.Line{Type: history.Balance, Consumer: consumer}
	err := d.each(ctx, pool, &l, []any{&l.Key, &l.Amount, &l.Opening},
		`SELECT name, balance, opening FROM `+pgx.Identifier{table}.Sanitize())
	if err != nil {
		return err
	}
	return d.out.End(history.Line{Of: history.Balance})
}

func (d dumper) ledger(ctx context.Context, pool *pgxpool.Pool) error {
	for _, end := range []history.Line{
		{Of: history.EffectRow, Topic: roles.TopicTransfers, Consumer: roles.Ledger},
		{Of: history.EffectRow, Topic: roles.TopicNotices, Consumer: roles.Notifier, AtLeastOnce: true, Unordered: true},
	} {
		l := history.Line{Type: history.EffectRow, Consumer: end.Consumer}
		err := d.each(ctx, pool, &l, []any{&l.Row, &l.ID, &l.Key, &l.Amount, &l.To, &l.Child},
			`SELECT no, id, key, amount, to_key, child FROM effects WHERE consumer = $1 ORDER BY no`, end.Consumer)
		if err == nil {
			err = d.out.End(end)
		}
		if err != nil {
			return err
		}
	}
	return d.balances(ctx, pool, "balances", roles.Ledger)
}

// waiting dumps the messages that are kept: for a retry, for an operator's decision, or by an operator.
func (d dumper) waiting(ctx context.Context, bank, ledger *pgxpool.Pool) error {
	for _, w := range []struct {
		pool            *pgxpool.Pool
		where, consumer string
		query           string
	}{
		{bank, history.Pending, "", `SELECT id FROM leat.outbox_pending`},
		{ledger, history.Pending, "", `SELECT id FROM leat.outbox_pending`},
		{bank, history.Parked, "", `SELECT coalesce(id_text, id::text) FROM leat.outbox_held`},
		{bank, history.Dead, "", `SELECT id FROM leat.outbox_audit WHERE action = 'drop'`},
		{ledger, history.Parked, roles.Ledger, `SELECT convert_from(message_id, 'UTF8') FROM leat.inbox_parked`},
	} {
		l := history.Line{Type: history.Waiting, Where: w.where, Consumer: w.consumer}
		if err := d.each(ctx, w.pool, &l, []any{&l.ID}, w.query); err != nil {
			return err
		}
	}
	return d.out.End(history.Line{Of: history.Waiting})
}
