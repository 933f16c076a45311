package pginbox

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/internal/sqlfile"
)

// consumer describes how the ids of one consumer are stored.
type consumer struct {
	pgclaim.Consumer

	positions, ids, nameIDs string // statements

	home        home
	marks       markStatements
	historyName string // under which a connection remembers its history
}

// home is the database of an inbox, as far as two inboxes of one process can be compared.
type home struct {
	pool  any
	table string
}

func newConsumer(sessions pgpin.Sessions, names pgmigrate.Names, name string) (c consumer, err error) {
	if c.Consumer, err = pgclaim.NewConsumer(names, name); err != nil {
		return c, err
	}
	if c.marks, err = newMarkStatements(names); err != nil {
		return c, err
	}
	c.home, c.historyName = home{pgpin.PoolOf(sessions), c.Table}, "leat.inbox history "+c.Table
	err = sqlfile.Load(statementFiles, names.Render, map[string]*string{"positions": &c.positions, "ids": &c.ids, "ids_name": &c.nameIDs})
	return c, err
}

// number returns the number that the consumer's name is stored as, registering it the first time,
// and checks once per connection whether ids can be trusted. Conn must lead to the history in which the
// marks of the message's group were read.
func (c consumer) number(ctx context.Context, conn *pgx.Conn) (int16, error) {
	if err := c.sameHistory(ctx, conn); err != nil {
		return 0, err
	}
	return c.Remembered(conn, "inbox", func() (int16, error) {
		if err := c.Visible(ctx, conn, false); err != nil {
			return 0, err
		}
		number, err := c.Registered(ctx, conn)
		if err == nil {
			err = c.alone(ctx, conn, number)
		}
		return number, err
	})
}

// alone refuses a consumer that has an inbox of positions. A database without the tables of
// positions, because it is not migrated that far, is fine; so is a role without the right to read
// them.
func (c consumer) alone(ctx context.Context, conn *pgx.Conn, number int16) error {
	var used bool
	err := conn.QueryRow(ctx, c.positions, number).Scan(&used)
	switch {
	case pgerr.Is(err, pgerr.UndefinedTable, pgerr.InsufficientPrivilege):
		return nil
	case err == nil && used:
		return pgclaim.ErrOtherInbox
	default:
		return err
	}
}
