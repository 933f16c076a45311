package chaos

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
)

// rows writes line for each row of a query. targets point to its fields.
func (d dumper) rows(ctx context.Context, db *sql.DB, line *history.Line, targets []any, query string, args ...any) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("dump %s: %w", line.Type, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return fmt.Errorf("dump %s: %w", line.Type, err)
		}
		if err := d.out.Write(*line); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("dump %s: %w", line.Type, err)
	}
	return nil
}

func (s *sqlStore) dump(ctx context.Context, d dumper) error {
	l := history.Line{Type: history.Ledger}
	err := d.rows(ctx, s.books, &l, []any{&l.ID, &l.Key, &l.Version, &l.Amount, &l.To},
		"SELECT id, account, version, amount, to_account FROM transfers")
	if err == nil {
		err = d.out.End(history.Line{Of: history.Ledger})
	}
	if err != nil {
		return err
	}
	end := history.Line{Of: history.EffectRow, Topic: roles.TopicTransfers, Consumer: roles.Ledger}
	l = history.Line{Type: history.EffectRow, Consumer: roles.Ledger}
	err = d.rows(ctx, s.effects, &l, []any{&l.Row, &l.ID, &l.Key, &l.Amount, &l.To, &l.Child},
		"SELECT no, id, account, amount, to_account, child FROM effects ORDER BY no")
	if err == nil {
		err = d.out.End(end)
	}
	if err != nil {
		return err
	}
	if err := s.dumpBalances(ctx, d, s.books, "accounts", ""); err != nil {
		return err
	}
	if err := s.dumpBalances(ctx, d, s.effects, "balances", roles.Ledger); err != nil {
		return err
	}
	return s.dumpWaiting(ctx, d)
}

func (s *sqlStore) dumpBalances(ctx context.Context, d dumper, db *sql.DB, table, consumer string) error {
	l := history.Line{Type: history.Balance, Consumer: consumer}
	err := d.rows(ctx, db, &l, []any{&l.Key, &l.Amount, &l.Opening}, "SELECT name, balance, opening FROM "+table)
	if err != nil {
		return err
	}
	return d.out.End(history.Line{Of: history.Balance})
}

// dumpWaiting dumps the messages that are kept: for a retry, for an operator's decision, or by an
// operator.
func (s *sqlStore) dumpWaiting(ctx context.Context, d dumper) error {
	var pending [2]string
	for i, db := range []*sql.DB{s.books, s.effects} {
		where, err := unread(ctx, db)
		if err != nil {
			return err
		}
		pending[i] = "SELECT id FROM leat_outbox WHERE shard >= 0 AND (" + where + ")"
	}
	for _, w := range []struct {
		db              *sql.DB
		where, consumer string
		query           string
		args            []any
	}{
		{s.books, history.Pending, "", pending[0], nil},
		{s.effects, history.Pending, "", pending[1], nil},
		{s.books, history.Parked, "", "SELECT id FROM leat_outbox_held", nil},
		{s.books, history.Dead, "", "SELECT id FROM leat_outbox_audit WHERE action = ?", []any{[]byte("drop")}},
		{s.effects, history.Parked, roles.Ledger, "SELECT message_id FROM leat_inbox_parked", nil},
	} {
		l := history.Line{Type: history.Waiting, Where: w.where, Consumer: w.consumer}
		if err := d.rows(ctx, w.db, &l, []any{&l.ID}, w.query, w.args...); err != nil {
			return err
		}
	}
	return d.out.End(history.Line{Of: history.Waiting})
}

// unread returns the SQL condition for rows that no relay has settled: those above the group's last
// number, and those in its gaps. Gaps are written like 4-7,9-9.
func unread(ctx context.Context, db *sql.DB) (string, error) {
	var last int64
	var gaps string
	err := db.QueryRowContext(ctx, "SELECT last, gaps FROM leat_outbox_groups").Scan(&last, &gaps)
	if errors.Is(err, sql.ErrNoRows) { // there is no group, so nothing waits to be read by position
		return "1 = 0", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the position: %w", err)
	}
	var where strings.Builder
	where.WriteString("seq > " + strconv.FormatInt(last, 10))
	for gap := range strings.SplitSeq(gaps, ",") {
		if from, to, ok := strings.Cut(gap, "-"); ok {
			where.WriteString(" OR seq BETWEEN " + from + " AND " + to)
		}
	}
	return where.String(), nil
}
