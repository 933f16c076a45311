package pginbox

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/sqlfile"
)

// consumer knows how one consumer's ids are stored.
type consumer struct {
	pgclaim.Consumer

	hidden, positions string // statements
}

func newConsumer(names pgmigrate.Names, name string) (c consumer, err error) {
	if c.Consumer, err = pgclaim.NewConsumer(names, name); err != nil {
		return c, err
	}
	err = sqlfile.Load(statementFiles, names.Render, map[string]*string{"hidden": &c.hidden, "positions": &c.positions})
	return c, err
}

// number returns the number that the consumer's name is stored as, registering
// it the first time, and looks once a connection whether ids can be trusted.
func (c consumer) number(ctx context.Context, conn *pgx.Conn) (int16, error) {
	return c.Remembered(conn, "inbox", func() (int16, error) {
		if err := c.visible(ctx, conn); err != nil {
			return 0, err
		}
		number, err := c.Registered(ctx, conn)
		if err == nil {
			err = c.alone(ctx, conn, number)
		}
		return number, err
	})
}

// visible returns ErrRowSecurity if rows may be hidden.
func (c consumer) visible(ctx context.Context, conn *pgx.Conn) error {
	var partly string
	err := conn.QueryRow(ctx, c.hidden).Scan(&partly)
	if err == nil && partly != "" {
		err = fmt.Errorf("%w: on %s", ErrRowSecurity, partly)
	}
	return err
}

// alone refuses a consumer that has an inbox of positions. A database in which
// there can be none, since it is not migrated so far, is fine; so is a role that
// was never allowed to look.
func (c consumer) alone(ctx context.Context, conn *pgx.Conn, number int16) error {
	var used bool
	err := conn.QueryRow(ctx, c.positions, number).Scan(&used)
	switch {
	case pgerr.Is(err, pgerr.UndefinedTable, pgerr.InsufficientPrivilege):
		return nil
	case err == nil && used:
		return ErrOtherInbox
	default:
		return err
	}
}

// lock is the advisory lock of a message. The salt keeps it apart from the
// outbox's: a handler may enqueue while it holds this one.
func (c consumer) lock(id pgtype.UUID) int64 {
	return keyhash.Lock("inbox", c.Table, c.Name, string(id.Bytes[:]))
}
