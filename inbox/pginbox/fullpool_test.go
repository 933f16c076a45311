package pginbox_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// lineWriter hands the lines of a log on.
type lineWriter chan string

func (w lineWriter) Write(p []byte) (int, error) {
	w <- string(p)
	return len(p), nil
}

// TestA3_HandlersOnThePool: handlers that use the pool inside the inbox wait for each other.
// The log names the reason, and so does the error of a message that finds no connection.
//
//leat:level 1
func TestA3_HandlersOnThePool(t *testing.T) {
	t.Parallel()
	const most = 2
	env := testenv.Postgres(t, template)
	cfg := env.Pool.Config()
	cfg.MaxConns = most
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	lines := make(lineWriter, 10)
	in, err := pginbox.New(pool, "tester", pginbox.Config{Config: inbox.Config{
		Logger: slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: slog.LevelWarn})), OnFailure: inbox.Policy{Delay: inbox.NoDelay},
	}})
	require.NoError(t, err)
	in.Impatient(100*time.Millisecond, 50*time.Millisecond)

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var entered sync.WaitGroup
	entered.Add(most)
	ended := make(chan error, most)
	handle := pginbox.Handle(in, func(ctx context.Context, _ pgx.Tx, _ *message.Message) error {
		entered.Done()
		entered.Wait() // until the pool has no connection left
		_, err := pool.Exec(ctx, "SELECT 1")
		return err
	})
	for _, id := range []string{"a", "b"} {
		go func() { ended <- handle(message.NewMessageWithContext(ctx, id, nil)) }()
	}
	var line string
	select {
	case line = <-lines:
	case <-ctx.Done():
	}
	require.Contains(t, line, "does the handler use the pool instead of the delivery's transaction")
	require.Contains(t, line, "connections=2")
	err = handle(message.NewMessageWithContext(t.Context(), "c", nil))
	require.ErrorIs(t, err, inbox.ErrNotClaimed)
	require.False(t, inbox.ShouldPoison(err))
	require.ErrorContains(t, err, "all 2 of the pool are taken (pgxpool.Config.MaxConns)")
	cancel()
	for range most {
		require.ErrorIs(t, <-ended, context.Canceled)
	}
}
