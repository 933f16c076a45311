package txctx_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/txctx"
)

type fakeTx struct{ name string }

func (fakeTx) Commit() {}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	tx := &fakeTx{"a"}
	ctx := txctx.With(t.Context(), tx)
	require.Same(t, tx, txctx.From(ctx))

	got, ok := txctx.As[*fakeTx](ctx)
	require.True(t, ok)
	require.Same(t, tx, got)

	_, ok = txctx.As[interface{ Commit() }](ctx)
	require.True(t, ok, "an interface that the transaction implements")

	_, ok = txctx.As[*int](ctx)
	require.False(t, ok, "another type")
}

func TestNone(t *testing.T) {
	t.Parallel()
	require.Nil(t, txctx.From(t.Context()))
	_, ok := txctx.As[*fakeTx](t.Context())
	require.False(t, ok)
}

func TestInnermostCounts(t *testing.T) {
	t.Parallel()
	outer := txctx.With(t.Context(), &fakeTx{"outer"})
	inner := txctx.With(outer, &fakeTx{"inner"})
	require.Equal(t, &fakeTx{"inner"}, txctx.From(inner))
	require.Equal(t, &fakeTx{"outer"}, txctx.From(outer))

	derived, cancel := context.WithCancel(inner)
	cancel()
	require.Equal(t, &fakeTx{"inner"}, txctx.From(derived), "a context that has ended still carries it")
}
