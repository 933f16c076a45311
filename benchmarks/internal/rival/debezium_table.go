package rival

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/outbox"
)

// debeziumTable is the name of the outbox table, with its schema.
const debeziumTable = "public.outbox"

// createDebeziumTable creates the table of the outbox event router's documentation. The payload has the
// type that needs no conversion.
func createDebeziumTable(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, `CREATE TABLE `+debeziumTable+` (
		id uuid PRIMARY KEY,
		aggregatetype varchar(255) NOT NULL,
		aggregateid varchar(255) NOT NULL,
		type varchar(255) NOT NULL,
		payload bytea NOT NULL)`)
	if err != nil {
		return fmt.Errorf("rival: Debezium's table: %w", err)
	}
	return nil
}

// Fill writes messages into the table, a thousand a transaction.
func (d *Debezium) Fill(ctx context.Context, messages []outbox.Message) error {
	const chunk = 1000
	for at := 0; at < len(messages); at += chunk {
		part := messages[at:min(at+chunk, len(messages))]
		err := d.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error { return d.Insert(ctx, tx, part...) })
		if err != nil {
			return fmt.Errorf("rival: fill Debezium's table: %w", err)
		}
	}
	return nil
}

// InTx runs do in a transaction on Debezium's database.
func (d *Debezium) InTx(ctx context.Context, do func(ctx context.Context, tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error { return do(ctx, tx) })
}

// Insert writes messages in tx.
func (d *Debezium) Insert(ctx context.Context, tx pgx.Tx, messages ...outbox.Message) error {
	if len(messages) == 1 {
		m := messages[0]
		_, err := tx.Exec(ctx, `INSERT INTO `+debeziumTable+` (id, aggregatetype, aggregateid, type, payload)
			VALUES ($1::uuid, $2, $3, 'message', $4)`, m.ID, m.Topic, m.Key, m.Payload)
		return err
	}
	n := len(messages)
	ids, topics, keys, payloads := make([]string, n), make([]string, n), make([]string, n), make([][]byte, n)
	for i := range messages {
		ids[i], topics[i], keys[i], payloads[i] = messages[i].ID, messages[i].Topic, messages[i].Key, messages[i].Payload
	}
	_, err := tx.Exec(ctx, `INSERT INTO `+debeziumTable+` (id, aggregatetype, aggregateid, type, payload)
		SELECT id, topic, key, 'message', payload
		FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[]) AS m (id, topic, key, payload)`,
		ids, topics, keys, payloads)
	return err
}
