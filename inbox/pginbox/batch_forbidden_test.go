package pginbox_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// TestI13_BlockingClaimsDeadlock is a negative control: batches whose claims wait
// for each other's rows, in the order of delivery.
func TestI13_BlockingClaimsDeadlock(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t, template)
	ids := [2]uuid.UUID{uuid.New(), uuid.New()}
	claim := func(tx pgx.Tx, id uuid.UUID) error {
		_, err := tx.Exec(t.Context(), `INSERT INTO leat.inbox VALUES (1, $1) ON CONFLICT DO NOTHING`, id)
		return err
	}
	var txs [2]pgx.Tx
	for i := range txs {
		tx, err := env.Pool.Begin(t.Context())
		require.NoError(t, err)
		defer func() { _ = tx.Rollback(context.Background()) }()
		txs[i] = tx
		require.NoError(t, claim(tx, ids[i]))
	}
	errs := make(chan error, 2)
	for i, tx := range txs {
		go func() {
			err := claim(tx, ids[1-i])
			if err != nil { // and so the other one goes on
				_ = tx.Rollback(context.Background())
			}
			errs <- err
		}()
	}
	first, second := <-errs, <-errs
	if first == nil {
		first, second = second, first
	}
	wantState("40P01")(t, first)
	require.NoError(t, second)
}

// TestI13_OurClaimsRefuseEachOther is the same with our statement: each batch is
// refused what the other has, and neither waits.
func TestI13_OurClaimsRefuseEachOther(t *testing.T) {
	t.Parallel()
	s := newSubject(t, testenv.Postgres(t), pginbox.Config{})
	b, err := s.OpenBatch("tester", inbox.Config{BusyDelay: inbox.NoDelay}, inbox.BatchConfig{})
	require.NoError(t, err)
	msgs := func(ids ...string) (all []*message.Message) {
		for _, id := range ids {
			all = append(all, delivery(t.Context(), id))
		}
		return all
	}
	var inner []error
	outer := b.Process(t.Context(), msgs("a", "b", "c"), func(ctx context.Context, _ []*message.Message) error {
		inner = b.Process(t.Context(), msgs("d", "c", "b", "e"), func(context.Context, []*message.Message) error { return nil })
		return s.Write(ctx, "outer")
	})
	for _, err := range append(outer, inner[0], inner[3]) {
		require.NoError(t, err)
	}
	require.ErrorIs(t, inner[1], inbox.ErrBusy)
	require.ErrorIs(t, inner[2], inbox.ErrBusy)
}

// TestI13_ClaimCallsCopiesFresh is a negative control: given a message twice, the
// statement calls both copies new. Batch removes them before.
func TestI13_ClaimCallsCopiesFresh(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t, template)
	text, err := os.ReadFile("sql/claim_batch.sql")
	require.NoError(t, err)
	id := uuid.New()
	var setting string
	var refused, seen []int64
	err = env.Pool.QueryRow(t.Context(), strings.ReplaceAll(string(text), "@{}", "leat.inbox"),
		1, []uuid.UUID{id, id}, []int64{1, 1}, 0).Scan(&setting, &refused, &seen)
	require.NoError(t, err)
	require.Empty(t, refused)
	require.Empty(t, seen, "if this is seen now, the removal of copies is no longer needed")
}

func TestHandleBatch(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t, template)
	onPgx, err := pginbox.New(env.Pool, "pgx", pginbox.Config{})
	require.NoError(t, err)
	onSQL, err := pginbox.NewSQL(env.SQL(t), "sql", pginbox.Config{})
	require.NoError(t, err)
	newBatch := func(in *pginbox.Inbox) *inbox.Batch {
		b, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{})
		require.NoError(t, err)
		return b
	}
	rows := func(ctx context.Context, msgs []*message.Message) error {
		tx := pginbox.Tx(ctx)
		require.Equal(t, tx, pginbox.Tx(msgs[1].Context()))
		_, err := tx.Exec(ctx, `INSERT INTO effects VALUES ('pgx'), ('pgx')`)
		return err
	}
	rowsSQL := func(ctx context.Context, msgs []*message.Message) error {
		tx := pginbox.SQLTx(ctx)
		require.Same(t, tx, pginbox.SQLTx(msgs[1].Context()))
		_, err := tx.ExecContext(ctx, `INSERT INTO effects VALUES ('sql'), ('sql')`)
		return err
	}
	queue := func(context.Context, *pgx.Batch, *message.Message) error { return nil }
	two := []*message.Message{delivery(t.Context(), "a"), delivery(t.Context(), "b")}
	for range 2 {
		require.Equal(t, []error{nil, nil}, newBatch(onPgx).Handle(rows)(t.Context(), two))
		require.Equal(t, []error{nil, nil}, newBatch(onSQL).Handle(rowsSQL)(t.Context(), two))
	}
	other := []*message.Message{delivery(t.Context(), "c")}
	more := func(context.Context, []*message.Message) error { return nil }
	require.ErrorIs(t, newBatch(onPgx).Handle(more)(t.Context(), two[:1])[0], inbox.ErrTwoHandlers)
	require.ErrorIs(t, pginbox.HandleBatchQueued(newBatch(onPgx), queue)(t.Context(), other)[0], inbox.ErrTwoHandlers)
	onSQL, err = pginbox.NewSQL(env.SQL(t), "sql", pginbox.Config{})
	require.NoError(t, err)
	require.ErrorContains(t, pginbox.HandleBatchQueued(newBatch(onSQL), queue)(t.Context(), other)[0], "takes an inbox of New")
	require.ErrorContains(t, pginbox.HandleQueued(onSQL, queue)(other[0]), "takes an inbox of New")

	var effects int
	require.NoError(t, env.Pool.QueryRow(t.Context(), `SELECT count(*) FROM effects`).Scan(&effects))
	require.Equal(t, 4, effects)
}
