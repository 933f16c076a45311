package pginbox_test

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// TestB11_RefusedSessionLeavesThePool: another part of the service has changed the one session
// of the pool. A delivery is refused, and the next one gets another session.
func TestB11_RefusedSessionLeavesThePool(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"synchronous_commit = off", "default_transaction_read_only = on"} {
		for name, open := range map[string]func(t *testing.T, pool *pgxpool.Pool) func(id string) error{
			"pgx": func(t *testing.T, pool *pgxpool.Pool) func(id string) error {
				t.Helper()
				in, err := pginbox.New(pool, "c", pginbox.Config{})
				require.NoError(t, err)
				return func(id string) error {
					_, err := process(t, in, id, nothing)
					return err
				}
			},
			"attempts": func(t *testing.T, pool *pgxpool.Pool) func(id string) error {
				t.Helper()
				in, err := pginbox.New(pool, "c", pginbox.Config{Config: inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 3}}})
				require.NoError(t, err)
				return func(id string) error {
					_, err := process(t, in, id, nothing)
					return err
				}
			},
			"sql": func(t *testing.T, pool *pgxpool.Pool) func(id string) error {
				t.Helper()
				db := stdlib.OpenDBFromPool(pool)
				t.Cleanup(func() { require.NoError(t, db.Close()) })
				in, err := pginbox.NewSQL(db, "c", pginbox.Config{})
				require.NoError(t, err)
				return func(id string) error {
					_, err := process(t, in, id, nothing)
					return err
				}
			},
			"queued": func(t *testing.T, pool *pgxpool.Pool) func(id string) error {
				t.Helper()
				in, err := pginbox.New(pool, "c", pginbox.Config{})
				require.NoError(t, err)
				handle := pginbox.HandleQueued(in, func(_ context.Context, b *pgx.Batch, _ *message.Message) error {
					b.Queue("SELECT 1")
					return nil
				})
				return func(id string) error { return handle(delivery(t.Context(), id)) }
			},
			"batch": func(t *testing.T, pool *pgxpool.Pool) func(id string) error {
				t.Helper()
				in, err := pginbox.New(pool, "c", pginbox.Config{})
				require.NoError(t, err)
				batch, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{})
				require.NoError(t, err)
				handle := batch.Handle(func(context.Context, []*message.Message) error { return nil })
				return func(id string) error {
					if errs := handle(t.Context(), []*message.Message{delivery(t.Context(), id), delivery(t.Context(), id+" too")}); errs != nil {
						return errs[0]
					}
					return nil
				}
			},
		} {
			t.Run(setting+"/"+name, func(t *testing.T) {
				t.Parallel()
				config, err := pgxpool.ParseConfig(testenv.Postgres(t, template).URL)
				require.NoError(t, err)
				config.MaxConns = 1
				pool, err := pgxpool.NewWithConfig(t.Context(), config)
				require.NoError(t, err)
				t.Cleanup(pool.Close)
				deliver := open(t, pool)
				require.NoError(t, deliver("before"))

				_, err = pool.Exec(t.Context(), "SET "+setting)
				require.NoError(t, err)
				require.Error(t, deliver("meets the session"))
				require.NoError(t, deliver("comes after it"))
				require.NoError(t, deliver("meets the session"))
			})
		}
	}
}
