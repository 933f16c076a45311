package wmoutbox_test

import (
	"testing"

	"github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/txctx"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/wmoutbox"
)

func newAdapter(t *testing.T, ob wmoutbox.Inserter) *wmoutbox.SchemaAdapter {
	t.Helper()
	adapter, err := wmoutbox.NewSchemaAdapter(ob, wmoutbox.Config{})
	require.NoError(t, err)
	return adapter
}

func TestSchemaAdapterReturnsTheOutboxStatement(t *testing.T) {
	t.Parallel()
	ins := &inserter{}
	tx := &fakeTx{}
	msg := newMessage(txctx.With(t.Context(), tx), "a")

	query, err := newAdapter(t, ins).InsertQuery(sql.InsertQueryParams{Topic: "orders", Msgs: message.Messages{msg}})
	require.NoError(t, err)
	require.Equal(t, "INSERT", query.Query)
	require.Equal(t, []any{1}, query.Args)
	require.Same(t, tx, ins.tx, "the message's context, and so its trace, reaches the outbox")
	require.Equal(t, []outbox.Message{{
		ID: "a", Topic: "orders", Key: "key of a", Payload: []byte("body of a"), Headers: map[string]string{"x": "a"},
	}}, ins.msgs)
}

func TestSchemaAdapterPassesErrorsOn(t *testing.T) {
	t.Parallel()
	_, err := newAdapter(t, &inserter{err: errBoom}).InsertQuery(sql.InsertQueryParams{
		Topic: "orders", Msgs: message.Messages{newMessage(t.Context(), "a")},
	})
	require.ErrorIs(t, err, errBoom)
	require.ErrorContains(t, err, `message "a" for topic "orders"`)

	_, err = newAdapter(t, &inserter{}).InsertQuery(sql.InsertQueryParams{Topic: "orders", Msgs: message.Messages{nil}})
	require.ErrorIs(t, err, outbox.ErrInvalidMessage)
}

func TestSchemaAdapterOnlyPublishes(t *testing.T) {
	t.Parallel()
	adapter := newAdapter(t, &inserter{})

	_, err := adapter.SchemaInitializingQueries(sql.SchemaInitializingQueriesParams{Topic: "orders"})
	require.ErrorIs(t, err, wmoutbox.ErrPublishOnly)
	require.ErrorIs(t, err, outbox.ErrNotInTransaction)

	_, err = adapter.SelectQuery(sql.SelectQueryParams{Topic: "orders"})
	require.ErrorIs(t, err, wmoutbox.ErrPublishOnly)

	_, err = adapter.UnmarshalMessage(sql.UnmarshalMessageParams{})
	require.ErrorIs(t, err, wmoutbox.ErrPublishOnly)
}
