package skiplocked

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/docs/exhibits/gallery"
	"github.com/leat-go/leat/docs/exhibits/stage"
)

// There are two messages of each key, and a batch has room for one of each.
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

// unpublished is the query of the articles.
const unpublished = `
	SELECT id, event FROM %t WHERE NOT published
	ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED`

// after is that of those who keep a cursor.
const after = `SELECT id, event FROM %t WHERE id > $1 ORDER BY id LIMIT 100`

// row is a message in the outbox.
type row struct {
	ID    int64
	Event string
}

// outbox is a table, and the relays that read it.
type outbox struct {
	stage *stage.Stage
	name  string
}

func newOutbox(ctx context.Context, s *stage.Stage, name string) (outbox, error) {
	o := outbox{stage: s, name: pgx.Identifier{"outbox_" + name}.Sanitize()}
	_, err := s.Pool.Exec(ctx, o.sql(table))
	return o, err
}

// insert writes a message in tx.
func (o outbox) insert(ctx context.Context, tx pgx.Tx, e gallery.Event) error {
	_, err := tx.Exec(ctx, o.sql(`INSERT INTO %t (key, event) VALUES ($1, $2)`), e.Key, e.ID)
	return err
}

// relay publishes one batch in a transaction: it takes the rows that no other
// relay has taken, publishes them, and marks those that were published.
func (o outbox) relay(ctx context.Context, publish func(event string) error) error {
	return pgx.BeginFunc(ctx, o.stage.Pool, func(tx pgx.Tx) error {
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
				o.stage.Say("  %s: %v; the relay goes on, and will come back to it", r.Event, err)
				continue
			}
			done = append(done, r.ID)
		}
		_, err = tx.Exec(ctx, o.sql(`UPDATE %t SET published = true WHERE id = ANY($1)`), done)
		return err
	})
}

// follow publishes what comes after the id last, and returns the new last.
func (o outbox) follow(ctx context.Context, last int64, publish func(event string)) (int64, error) {
	rows, err := o.stage.Pool.Query(ctx, o.sql(after), last)
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

// events are the first messages of all keys, and then the second ones.
func events() []gallery.Event {
	var all []gallery.Event
	for _, version := range []string{"first of ", "second of "} {
		for k := range keys {
			key := "key-" + strconv.Itoa(k)
			all = append(all, gallery.Event{ID: version + key, Key: key})
		}
	}
	return all
}

// insertAll commits all events, each in a transaction of its own.
func insertAll(ctx context.Context, s *stage.Stage, insert func(ctx context.Context, tx pgx.Tx, e gallery.Event) error, all []gallery.Event) error {
	for _, e := range all {
		err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error { return insert(ctx, tx, e) })
		if err != nil {
			return errors.Join(errors.New("insert "+e.ID), err)
		}
	}
	return nil
}

// sql puts the table's name, which is quoted, into a statement.
func (o outbox) sql(statement string) string { return strings.ReplaceAll(statement, "%t", o.name) }
