package bench_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/sqlinbox"
)

// inboxes runs a handler of two inserts behind the inbox, in batches of a hundred, and in a bare
// transaction. The aim applies to single messages.
func inboxes(b *testing.B, s side, lanes int, aim float64) {
	b.Helper()
	const size = 100
	in, err := sqlinbox.New(s.db, s.dialect, "bench", sqlinbox.Config{})
	require.NoError(b, err)
	require.NoError(b, in.Migrate(b.Context()))
	batch, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{MaxBatch: size})
	require.NoError(b, err)
	exec(b, s.db, "CREATE TABLE effects (id VARCHAR(36) NOT NULL, body BLOB NOT NULL)")
	one := in.Handle(func(ctx context.Context, msg *message.Message) error { return effect(ctx, sqlinbox.Tx(ctx), msg.UUID) })
	many := batch.Handle(func(ctx context.Context, msgs []*message.Message) error {
		ids := make([]string, len(msgs))
		for i, msg := range msgs {
			ids[i] = msg.UUID
		}
		return effect(ctx, sqlinbox.Tx(ctx), ids...)
	})
	ops := *messages / 20
	batched := max(ops/size, 2*lanes)
	in100s := func(int) error {
		msgs := make([]*message.Message, size)
		for i := range msgs {
			msgs[i] = fresh(b)
		}
		return again(func() error { return errors.Join(many(b.Context(), msgs)...) })
	}
	deliver := func(name string, n, size int, work func(int) error) contender {
		return contender{name, n * size, func(int) (spent, error) {
			return s.measure(func() error { return inLanes(lanes, n, work) })
		}}
	}
	f := turns(b,
		deliver("leat", ops, 1, func(int) error { return again(func() error { return one(fresh(b)) }) }),
		deliver("bare", ops, 1, func(int) error { return bare(b.Context(), s.db) }),
		deliver("batches", batched, size, in100s))
	s.aims.judge(b, f, aim, "leat", "bare")
	s.aims.judge(b, f, 15, "batches", "bare")
}

// again retries a delivery that shares a lock with another one.
func again(deliver func() error) error {
	for {
		if err := deliver(); !errors.Is(err, inbox.ErrBusy) {
			return err
		}
	}
}

func fresh(b *testing.B) *message.Message {
	b.Helper()
	return message.NewMessageWithContext(b.Context(), uuid.Must(uuid.NewV7()).String(), nil)
}

// effect inserts two rows per message, with two statements.
func effect(ctx context.Context, tx *sql.Tx, ids ...string) error {
	var args []any
	for _, id := range ids {
		args = append(args, id, payload())
	}
	statement := "INSERT INTO effects (id, body) VALUES (?, ?)" + strings.Repeat(", (?, ?)", len(ids)-1)
	for range 2 {
		if _, err := tx.ExecContext(ctx, statement, args...); err != nil {
			return err
		}
	}
	return nil
}

func bare(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if err := effect(ctx, tx, uuid.Must(uuid.NewV7()).String()); err != nil {
		return err
	}
	return tx.Commit()
}
