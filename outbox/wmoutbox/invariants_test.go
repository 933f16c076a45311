package wmoutbox_test

import (
	"context"
	stdsql "database/sql"
	"fmt"
	"reflect"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/wmoutbox"
)

func openSQL(pool *pgxpool.Pool) *stdsql.DB { return stdlib.OpenDBFromPool(pool) }

// checkO1 publishes in a transaction that commits and in one that rolls back,
// and looks for exactly the messages of the first.
func checkO1(ctx context.Context, b *bench, v variant) error {
	lost := message.NewMessage("lost", []byte("never"))
	if err := v.publish(ctx, b, false, "orders", lost); err != nil {
		return fmt.Errorf("publish and roll back: %w", err)
	}
	kept := []*message.Message{message.NewMessage("kept 1", nil), message.NewMessage("kept 2", nil)}
	if err := v.publish(ctx, b, true, "orders", kept...); err != nil {
		return fmt.Errorf("publish and commit: %w", err)
	}
	records, err := b.relayed(ctx)
	if err != nil {
		return err
	}
	ids := make([]string, len(records))
	for i := range records {
		ids[i] = records[i].ID
	}
	if want := []string{"kept 1", "kept 2"}; !reflect.DeepEqual(ids, want) {
		return fmt.Errorf("the outbox holds %q, want %q", ids, want)
	}
	return nil
}

//leat:level 1
func TestO1_RowExistsIffCommitted(t *testing.T) {
	t.Parallel()
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, checkO1(t.Context(), newBench(t), v))
		})
	}
}

//leat:level 1
func TestO1_CatchesAPublisherBesideTheTransaction(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	err := checkO1(t.Context(), b, variant{"beside it", beyond})
	require.ErrorContains(t, err, `"lost"`)
}

//leat:level 1
func TestO4_WhatIsRelayedIsWhatWasPublished(t *testing.T) {
	t.Parallel()
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			msg := message.NewMessage("01JB0000000000000000000000", []byte("\x00{ \"not\":  json"))
			msg.Metadata.Set(outbox.HeaderKey, "customer-7")
			msg.Metadata.Set(outbox.HeaderEventType, "order.placed")
			msg.Metadata.Set("correlation_id", "c-1")
			msg.Metadata.Set(outbox.HeaderEventID, "of the message that caused this one")

			require.NoError(t, v.publish(t.Context(), b, true, "orders.v1", msg))

			records, err := b.relayed(t.Context())
			require.NoError(t, err)
			require.Len(t, records, 1)
			require.Equal(t, outbox.Message{
				ID: msg.UUID, Topic: "orders.v1", Key: "customer-7", Type: "order.placed",
				Payload: msg.Payload, Headers: map[string]string{"correlation_id": "c-1"},
			}, records[0].Message)
		})
	}
}

//leat:level 1
func TestEventBusWritesInTheTransaction(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bus := newEventBus(t, newPublisher(t, b.ob, wmoutbox.Config{}))

	err := b.ob.InTx(t.Context(), func(ctx context.Context, _ pgx.Tx) error {
		return bus.Publish(ctx, &orderPlaced{OrderID: "17"})
	})
	require.NoError(t, err)
	err = b.ob.InTx(t.Context(), func(ctx context.Context, _ pgx.Tx) error {
		require.NoError(t, bus.Publish(ctx, &orderPlaced{OrderID: "18"}))
		return errBoom
	})
	require.ErrorIs(t, err, errBoom)
	require.ErrorIs(t, bus.Publish(t.Context(), &orderPlaced{OrderID: "19"}), outbox.ErrNotInTransaction)

	records, err := b.relayed(t.Context())
	require.NoError(t, err)
	require.Len(t, records, 1)
	require.Equal(t, "17", records[0].Key)
	require.JSONEq(t, `{"order_id":"17"}`, string(records[0].Payload))
}

//leat:level 1
func TestPublisherRefusesAnEndedTransaction(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tx, err := b.db.Pool.Begin(t.Context())
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))

	pub := newPublisher(t, b.ob, wmoutbox.Config{})
	err = pub.Publish("orders", newMessage(pgoutbox.ContextWithTx(t.Context(), tx), "late"))
	require.ErrorIs(t, err, outbox.ErrNotInTransaction)
}

//leat:level 1
func TestABadMessageRefusesTheBatch(t *testing.T) {
	t.Parallel()
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			good, bad := message.NewMessage("good", nil), message.NewMessage("bad", nil)
			bad.Metadata.Set("x", "\xff")
			err := v.publish(t.Context(), b, true, "orders", good, bad)
			require.ErrorIs(t, err, outbox.ErrInvalidMessage)
			require.ErrorContains(t, err, `messages[1].Headers["x"]`)

			records, err := b.relayed(t.Context())
			require.NoError(t, err)
			require.Empty(t, records)
		})
	}
}

//leat:level 1
func TestNoMessageIsANoOp(t *testing.T) {
	t.Parallel()
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			require.NoError(t, v.publish(t.Context(), b, true, "orders"))
			records, err := b.relayed(t.Context())
			require.NoError(t, err)
			require.Empty(t, records)
		})
	}
}

//leat:level 1
func TestAnotherDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			ours, theirs := newBench(t), newBench(t)
			mixed := &bench{db: theirs.db, ob: ours.ob}

			err := v.publish(t.Context(), mixed, true, "orders", message.NewMessage("stray", nil))
			require.ErrorContains(t, err, outbox.ErrWrongDatabase.Error())

			for _, b := range []*bench{ours, theirs} {
				records, err := b.relayed(t.Context())
				require.NoError(t, err)
				require.Empty(t, records)
			}
		})
	}
}
