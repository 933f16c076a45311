package open

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/pgerr"
)

// Topics implements TopicLister.
func (p *Postgres) Topics(ctx context.Context) ([]TopicUse, error) {
	if p.target.Forwarder != "" {
		return nil, nil
	}
	sql, err := statements.ReadFile("sql/topics.sql")
	if err != nil {
		return nil, err
	}
	statement := strings.NewReplacer("{log}", p.log(), "{held}", p.table("_held"), "{delayed}", p.table("_delayed")).Replace(string(sql))
	rows, err := p.Pool.Query(ctx, statement)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (u TopicUse, err error) {
		return u, row.Scan(&u.Topic, &u.Bytes, &u.Late)
	})
}

// Partitions implements TopicLister. An inbox that is not there remembers none.
func (p *Postgres) Partitions(ctx context.Context) (map[string]int, error) {
	sql, err := statements.ReadFile("sql/positions.sql")
	if err != nil {
		return nil, err
	}
	all := map[string]int{}
	var topic string
	var n int
	rows, err := p.Pool.Query(ctx, strings.ReplaceAll(string(sql), "{positions}", p.positions()))
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&topic, &n}, func() error {
			all[topic] = n
			return nil
		})
	}
	if pgerr.Is(err, pgerr.UndefinedTable) {
		return nil, nil
	}
	return all, err
}

// OtherOutboxes implements Elsewhere.
func (p *Postgres) OtherOutboxes(ctx context.Context) ([]string, error) {
	sql, err := statements.ReadFile("sql/outboxes.sql")
	if err != nil {
		return nil, err
	}
	rows, err := p.Pool.Query(ctx, string(sql), p.target.Schema, p.target.Outbox)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
