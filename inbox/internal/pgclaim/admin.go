package pgclaim

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/internal/pgmigrate"
)

// Admin is the common part of the calls of operators: they may ask about any consumer, register
// none, and see either all rows or none.
type Admin struct {
	db       pgmigrate.DB
	consumer Consumer // without a name
}

// NewAdmin returns an Admin of the tables called names.
func NewAdmin(db pgmigrate.DB, names pgmigrate.Names) (Admin, error) {
	c, err := NewConsumer(names, "")
	return Admin{db: db, consumer: c}, err
}

// Asked is the consumer that an operator asks about. Number is NULL for all consumers.
type Asked struct {
	Consumer

	Number pgtype.Int2
}

// Use lends a connection for a call about the consumer called name, or about all of them
// if it is empty. It returns admin.ErrUnknownConsumer and outbox.ErrRowSecurity.
func (a Admin) Use(ctx context.Context, name string, use func(conn *pgx.Conn, about Asked) error) error {
	return Explain(a.db.Use(ctx, func(conn *pgx.Conn) error {
		if err := a.visible(ctx, conn); err != nil {
			return err
		}
		about := Asked{Consumer: a.consumer.Named(name)}
		if name != "" {
			number, err := about.Known(ctx, conn)
			if err != nil {
				return err
			}
			about.Number = pgtype.Int2{Int16: number, Valid: true}
		}
		return use(conn, about)
	}))
}

// visible checks, once per connection, that all rows are visible.
func (a Admin) visible(ctx context.Context, conn *pgx.Conn) error {
	memory, name := conn.PgConn().CustomData(), "leat.inbox admin "+a.consumer.Table
	if _, known := memory[name]; known {
		return nil
	}
	if err := a.consumer.Visible(ctx, conn, true); err != nil {
		return err
	}
	memory[name] = true
	return nil
}
