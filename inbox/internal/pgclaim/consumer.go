package pgclaim

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/internal/sqlfile"
	"github.com/leat-go/leat/outbox"
)

//go:embed sql/*.sql
var statements embed.FS

// Consumer knows the number that a consumer's name is stored as.
type Consumer struct {
	Name   string
	Table  string // quoted
	Lookup string // the statement that finds the number of $1

	register, hidden string // statements
}

// NewConsumer returns the Consumer called name.
func NewConsumer(names pgmigrate.Names, name string) (Consumer, error) {
	c := Consumer{Name: name, Table: names.Qualified("")}
	err := sqlfile.Load(statements, names.Render, map[string]*string{"consumer": &c.Lookup, "register": &c.register, "hidden": &c.hidden})
	return c, err
}

// Named returns the Consumer called name of the same inbox.
func (c Consumer) Named(name string) Consumer {
	c.Name = name
	return c
}

// Lock is the advisory lock of a message. The salt distinguishes it from the outbox's locks: a
// handler may enqueue while it holds this one.
func (c Consumer) Lock(id pgtype.UUID) int64 {
	return keyhash.Lock("inbox", c.Table, c.Name, string(id.Bytes[:]))
}

// Visible returns outbox.ErrRowSecurity if rows may be hidden; it includes the audit's if audit
// is set, because the caller reads it. For claims, but not for operators, it returns
// ErrInsertTrigger if a trigger or a rule may suppress the insert of an id.
func (c Consumer) Visible(ctx context.Context, conn *pgx.Conn, audit bool) error {
	var partly, triggers string
	err := conn.QueryRow(ctx, c.hidden, audit).Scan(&partly, &triggers)
	switch {
	case err != nil:
		return err
	case partly != "":
		return fmt.Errorf("%w: on %s", outbox.ErrRowSecurity, partly)
	case triggers != "" && !audit:
		return fmt.Errorf("%w: %s", ErrInsertTrigger, triggers)
	default:
		return nil
	}
}

// Remembered returns the number that conn remembers for an inbox of this kind, or else the result
// of learn. The connection remembers it, not the process: after a failover to a standby that the
// registration had not reached, the number may belong to another consumer, but then the
// connections are new.
func (c Consumer) Remembered(conn *pgx.Conn, kind string, learn func() (int16, error)) (int16, error) {
	var space [128]byte
	name := append(space[:0], "leat."...)
	for i, part := range [...]string{kind, c.Table, c.Name} {
		if i > 0 {
			name = append(name, ' ')
		}
		name = append(name, part...)
	}
	memory := conn.PgConn().CustomData()
	if number, ok := memory[string(name)].(int16); ok { // without allocating a string
		return number, nil
	}
	number, err := learn()
	if err != nil {
		return 0, Explain(err)
	}
	memory[string(name)] = number
	return number, nil
}

// Registered returns the number, registering the name the first time.
func (c Consumer) Registered(ctx context.Context, conn *pgx.Conn) (int16, error) {
	number, err := c.find(ctx, conn)
	if errors.Is(err, pgx.ErrNoRows) {
		number, err = c.enrol(ctx, conn)
	}
	return number, err
}

// Known returns the number of a registered consumer, and registers none: an operator may have
// misspelt the name, and may lack the privilege.
func (c Consumer) Known(ctx context.Context, conn *pgx.Conn) (int16, error) {
	number, err := c.find(ctx, conn)
	if errors.Is(err, pgx.ErrNoRows) {
		err = fmt.Errorf("%w: %q in %s", admin.ErrUnknownConsumer, c.Name, c.Table)
	}
	return number, Explain(err)
}

func (c Consumer) find(ctx context.Context, q interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
},
) (number int16, err error) {
	err = q.QueryRow(ctx, c.Lookup, c.Name).Scan(&number)
	return number, err
}

// enrol gives the consumer a number. Lock, then look: the look is a statement of its own, so it
// takes its snapshot after the lock.
func (c Consumer) enrol(ctx context.Context, conn *pgx.Conn) (number int16, err error) {
	mode := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
	err = pgx.BeginTxFunc(ctx, conn, pgpin.TxOptions(mode), func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, keyhash.Lock("inbox consumers", c.Table)); err != nil {
			return err
		}
		number, err = c.find(ctx, tx)
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		err := tx.QueryRow(ctx, c.register, c.Name).Scan(&number)
		if errors.Is(err, pgx.ErrNoRows) {
			err = ErrTooManyConsumers
		}
		return err
	})
	return number, err
}

// IDText is the text of the stored form of a message's id.
func IDText(id string) string {
	stored, _ := ids.Map(id)
	return ids.Text(stored)
}

// StoredID is the stored form of a message's id.
func StoredID(id string) pgtype.UUID {
	stored, _ := ids.Map(id)
	return pgtype.UUID{Bytes: stored, Valid: true}
}
