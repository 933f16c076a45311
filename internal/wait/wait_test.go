package wait_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/wait"
)

func TestFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		require.NoError(t, wait.For(t.Context(), time.Hour))
		require.Equal(t, time.Hour, time.Since(began))
		require.True(t, wait.Full(t.Context(), 0))
		require.NoError(t, wait.For(t.Context(), -1))
		require.Equal(t, time.Hour, time.Since(began))
	})
}

func TestFor_EndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(t.Context())
		began := time.Now()
		time.AfterFunc(time.Second, func() { cancel(why) })
		require.ErrorIs(t, wait.For(ctx, time.Hour), why)
		require.Equal(t, time.Second, time.Since(began))
		require.ErrorIs(t, wait.For(ctx, 0), why)
		require.False(t, wait.Full(ctx, time.Hour))
	})
}
