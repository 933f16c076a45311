package skiplocked

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
)

// Each key has two messages. A batch has room for one message of each key.
const (
	keys = 100
	page = keys
)

const table = `
	CREATE TABLE %t (
		id        bigserial PRIMARY KEY,
		key       text NOT NULL,
		event     text NOT NULL,
		published boolean NOT NULL DEFAULT false
	)`

// unpublished is the query that the articles use.
const unpublished = `
	SELECT id, event FROM %t WHERE NOT published
	ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED`

// after is the query of relays that remember the last id.
const after = `SELECT id, event FROM %t WHERE id > $1 ORDER BY id LIMIT 100`

// row is a message in the outbox.
type row struct {
	ID    int64
	Event string
}

// outbox is a table, and the relays that read it.
type outbox struct {
	bed  *testbed.Testbed
	name string
}

func newOutbox(ctx context.Context, bed *testbed.Testbed, name string) (outbox, error) {
	o := outbox{bed: bed, name: pgx.Identifier{"outbox_" + name}.Sanitize()}
	_, err := bed.Pool.Exec(ctx, o.sql(table))
	return o, err
}

// insert writes a message in tx.
func (o outbox) insert(ctx context.Context, tx pgx.Tx, e exhibit.Event) error {
	_, err := tx.Exec(ctx, o.sql(`INSERT INTO %t (key, event) VALUES ($1, $2)`), e.Key, e.ID)
	return err
}

// relay publishes one batch in a transaction: it takes the rows that no other
// relay has taken, publishes them, and marks those that were published.
func (o outbox) relay(ctx context.Context, publish func(event string) error) error {
	return pgx.BeginFunc(ctx, o.bed.Pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, o.sql(unpublished))
		if err != nil {
			return err
		}
		batch, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
		if err != nil {
			return err
		}
		var done []int64
		for _, r := range batch {
			if err := publish(r.Event); err != nil {
				o.bed.Say("  %s: %v; the relay goes on, and will come back to it", r.Event, err)
				continue
			}
			done = append(done, r.ID)
		}
		_, err = tx.Exec(ctx, o.sql(`UPDATE %t SET published = true WHERE id = ANY($1)`), done)
		return err
	})
}

// follow publishes the messages whose ids are above last, and returns the new last.
func (o outbox) follow(ctx context.Context, last int64, publish func(event string)) (int64, error) {
	rows, err := o.bed.Pool.Query(ctx, o.sql(after), last)
	if err != nil {
		return last, err
	}
	batch, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
	for _, r := range batch {
		publish(r.Event)
		last = r.ID
	}
	return last, err
}

// events returns the first messages of all keys, and then their second messages.
func events() []exhibit.Event {
	var all []exhibit.Event
	for _, version := range []string{"first of ", "second of "} {
		for k := range keys {
			key := "key-" + strconv.Itoa(k)
			all = append(all, exhibit.Event{ID: version + key, Key: key})
		}
	}
	return all
}

// insertAll commits all events, each in a transaction of its own.
func insertAll(ctx context.Context, bed *testbed.Testbed, insert func(ctx context.Context, tx pgx.Tx, e exhibit.Event) error, all []exhibit.Event) error {
	for _, e := range all {
		err := pgx.BeginFunc(ctx, bed.Pool, func(tx pgx.Tx) error { return insert(ctx, tx, e) })
		if err != nil {
			return errors.Join(errors.New("insert "+e.ID), err)
		}
	}
	return nil
}

// sql puts the table's quoted name into a statement.
func (o outbox) sql(statement string) string { return strings.ReplaceAll(statement, "%t", o.name) }
