package bench_test

import (
	"context"
	"database/sql"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// payload returns the payload of each message.
func payload() []byte { return make([]byte, 512) }

// enqueues runs transactions of a business row and one message with a key, by eight writers. The
// comparison is a plain insert instead of the message.
func enqueues(b *testing.B, s side) {
	b.Helper()
	ob := newOutbox(b, s)
	exec(b, s.db, "CREATE TABLE orders (customer VARCHAR(50) NOT NULL, body BLOB NOT NULL)")
	id := map[bool]string{true: "INTEGER PRIMARY KEY AUTOINCREMENT", false: "BIGINT AUTO_INCREMENT PRIMARY KEY"}[s.watermill == nil]
	exec(b, s.db, "CREATE TABLE plain (id "+id+", topic VARCHAR(50) NOT NULL, msg_key VARCHAR(50) NOT NULL, payload BLOB NOT NULL)")
	message := func(ctx context.Context, tx *sql.Tx, key string) error {
		return ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: key, Payload: payload()})
	}
	plain := func(ctx context.Context, tx *sql.Tx, key string) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO plain (topic, msg_key, payload) VALUES ('orders', ?, ?)", key, payload())
		return err
	}
	ops := *messages / 20
	f := turns(b, contender{"leat", ops, ordering(b, s, ops, message)}, contender{"plain", ops, ordering(b, s, ops, plain)})
	aim := map[bool]float64{true: 0.8, false: 0.95}[s.watermill == nil]
	s.aims.judge(b, f, aim, "leat", "plain")
}

const writers = 8

func ordering(b *testing.B, s side, n int, write func(ctx context.Context, tx *sql.Tx, key string) error) func(int) (spent, error) {
	b.Helper()
	order := func(i int) error {
		tx, err := s.db.BeginTx(b.Context(), nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // after a commit it does nothing
		key := "customer-" + strconv.Itoa(i)
		if _, err := tx.ExecContext(b.Context(), "INSERT INTO orders (customer, body) VALUES (?, ?)", key, payload()); err != nil {
			return err
		}
		if err := write(b.Context(), tx, key); err != nil {
			return err
		}
		return tx.Commit()
	}
	return func(int) (spent, error) {
		return s.measure(func() error { return inLanes(writers, n, order) })
	}
}

func newOutbox(b *testing.B, s side) *sqloutbox.Outbox {
	b.Helper()
	ob, err := sqloutbox.New(s.db, s.dialect, sqloutbox.Config{})
	require.NoError(b, err)
	require.NoError(b, ob.Migrate(b.Context()))
	return ob
}
