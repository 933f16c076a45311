// Command gorm is for services on gorm. The outbox writes on the *sql.Tx that
// gorm's transaction runs on, so that a model and its event commit together.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/leat-go/leat/examples/internal/servers"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// Order is an ordinary model.
type Order struct {
	ID    string `gorm:"primaryKey"`
	Cents int64  `gorm:"check:cents > 0"`
}

func main() {
	servers.Supervise()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "gorm:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	s, err := servers.Start(ctx, "gorm")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	topic, err := s.CreateTopic(ctx, "orders")
	if err != nil {
		return err
	}

	conn := stdlib.OpenDBFromPool(s.Pool)
	defer func() { err = errors.Join(err, conn.Close()) }()
	db, err := gorm.Open(postgres.New(postgres.Config{Conn: conn}), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return err
	}
	ob, err := pgoutbox.New(s.Pool, pgoutbox.Config{})
	if err != nil {
		return err
	}
	if err := errors.Join(db.WithContext(ctx).AutoMigrate(&Order{}), ob.Migrate(ctx)); err != nil {
		return err
	}

	for _, o := range []Order{{ID: "o-1", Cents: 1999}, {ID: "o-2", Cents: -1}, {ID: "o-3", Cents: 250}} {
		if err := placeOrder(ctx, db, ob, topic, o); err != nil {
			fmt.Println(o.ID, "sends nothing:", err)
		}
	}
	return s.Relay(ctx, ob, topic) // a service runs one: see the README
}

// placeOrder writes an order and its event, or neither.
func placeOrder(ctx context.Context, db *gorm.DB, ob *pgoutbox.Outbox, topic string, o Order) error {
	err := db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(&o).Error; err != nil {
			return err
		}
		return enqueue(ctx, ob, tx, outbox.Message{
			Topic: topic, Key: o.ID, Payload: fmt.Appendf(nil, `{"id":%q,"cents":%d}`, o.ID, o.Cents),
		})
	})
	if err == nil {
		ob.Wake()
	}
	return err
}

// enqueue is the one function that a gorm service adds. Outside db.Transaction
// there is no *sql.Tx, and it refuses.
func enqueue(ctx context.Context, ob *pgoutbox.Outbox, tx *gorm.DB, msgs ...outbox.Message) error {
	pool := tx.Statement.ConnPool
	if prepared, ok := pool.(*gorm.PreparedStmtTX); ok { // gorm.Config.PrepareStmt
		pool = prepared.Tx
	}
	sqlTx, ok := pool.(*sql.Tx)
	if !ok {
		return outbox.ErrNotInTransaction
	}
	return ob.EnqueueSQL(ctx, sqlTx, msgs...)
}
