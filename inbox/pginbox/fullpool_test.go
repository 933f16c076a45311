package pginbox_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

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

// smallPool returns an inbox on a pool of few connections, of pgx or of database/sql, a
// statement on the pool, and how many connections the pool may have.
func smallPool(t *testing.T, std bool, cfg pginbox.Config) (in *pginbox.Inbox, exec func(ctx context.Context) error, open func() int) {
	t.Helper()
	env := testenv.Postgres(t, template)
	if std {
		db, err := sql.Open("pgx", env.URL)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		db.SetMaxOpenConns(smallPoolSize)
		in, err = pginbox.NewSQL(db, "tester", cfg)
		require.NoError(t, err)
		return in, func(ctx context.Context) error {
			_, err := db.ExecContext(ctx, "SELECT 1")
			return err
		}, func() int { return db.Stats().MaxOpenConnections }
	}
	settings := env.Pool.Config()
	settings.MaxConns = smallPoolSize
	pool, err := pgxpool.NewWithConfig(t.Context(), settings)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	in, err = pginbox.New(pool, "tester", cfg)
	require.NoError(t, err)
	return in, func(ctx context.Context) error {
		_, err := pool.Exec(ctx, "SELECT 1")
		return err
	}, func() int { return int(pool.Stat().TotalConns()) }
}

const smallPoolSize = 4

// TestA3_HandlersOnThePool: handlers that use the pool inside the inbox wait for each other.
// The log says so, and the pool grows for a moment. After that the last connection is left to
// them.
//
//leat:level 1
func TestA3_HandlersOnThePool(t *testing.T) {
	t.Parallel()
	for name, std := range map[string]bool{"pgx": false, "database/sql": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := make(lineWriter, 100)
			in, exec, open := smallPool(t, std, pginbox.Config{Config: inbox.Config{
				Logger: slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: slog.LevelWarn})),
			}})
			const first = 16 // how many messages come first
			in.Impatient(time.Minute, 500*time.Millisecond)
			var full sync.WaitGroup // the pool has no connection left
			full.Add(smallPoolSize)
			var running, most atomic.Int64
			handle := func(ctx context.Context, n int, tx any) error {
				require.NotNil(t, tx)
				defer running.Add(-1)
				now := running.Add(1)
				if n < smallPoolSize {
					full.Done()
					full.Wait()
				}
				if n >= first {
					for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
					}
				}
				return exec(ctx)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			deliver := func(n int) error {
				msg := message.NewMessageWithContext(ctx, fmt.Sprint("id-", n), nil)
				if std {
					return in.Handle(func(ctx context.Context, _ *message.Message) error { return handle(ctx, n, pginbox.SQLTx(ctx)) })(msg)
				}
				return in.Handle(func(ctx context.Context, _ *message.Message) error { return handle(ctx, n, pginbox.Tx(ctx)) })(msg)
			}
			var group errgroup.Group
			for n := range first {
				group.Go(func() error { return deliver(n) })
				if n == smallPoolSize-1 {
					full.Wait()
				}
			}
			require.NoError(t, group.Wait())
			for n := range 16 {
				group.Go(func() error { return deliver(first + n) })
			}
			require.NoError(t, group.Wait())
			require.Contains(t, <-lines, "does it use the pool instead of its transaction")
			require.Less(t, most.Load(), int64(smallPoolSize), "the last connection was not left to handlers")
			require.LessOrEqual(t, open(), smallPoolSize, "the pool is larger than before")
		})
	}
}

// TestA3_FullPoolIsNamedInTheError: a message that finds no connection in time fails, and is
// not poison.
//
//leat:level 1
func TestA3_FullPoolIsNamedInTheError(t *testing.T) {
	t.Parallel()
	in, _, _ := smallPool(t, false, pginbox.Config{Config: inbox.Config{OnFailure: inbox.Policy{Delay: inbox.NoDelay}}})
	in.Impatient(100*time.Millisecond, time.Minute)
	var entered sync.WaitGroup
	entered.Add(smallPoolSize)
	free := make(chan struct{})
	handle := in.Handle(func(context.Context, *message.Message) error {
		entered.Done()
		<-free
		return nil
	})
	var group errgroup.Group
	for n := range smallPoolSize {
		group.Go(func() error {
			for { // until the pool has opened a connection in time
				err := handle(message.NewMessageWithContext(t.Context(), fmt.Sprint("id-", n), nil))
				if !errors.Is(err, inbox.ErrNotClaimed) {
					return err
				}
			}
		})
	}
	entered.Wait()
	err := handle(message.NewMessageWithContext(t.Context(), "another", nil))
	close(free)
	require.ErrorIs(t, err, inbox.ErrNotClaimed)
	require.False(t, inbox.ShouldPoison(err))
	require.ErrorContains(t, err, "all 4 of the pool are taken (pgxpool.Config.MaxConns)")
	require.NoError(t, group.Wait())
}
