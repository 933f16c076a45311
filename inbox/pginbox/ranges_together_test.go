package pginbox_test

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pginbox"
)

// TestI7_TooOldIsParked where messages that fail are parked: at once, acknowledged, and
// never run until people redrive it.
func TestI7_TooOldIsParked(t *testing.T) {
	t.Parallel()
	for mode, noDDL := range modes {
		for _, kind := range []string{"pgx", "sql"} {
			t.Run(mode+"/"+kind, func(t *testing.T) {
				t.Parallel()
				env := forgetting(t, pginbox.MaintenanceConfig{NoDDL: noDDL})
				p := stores(t, env, pginbox.Config{Config: inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park}}})[kind]
				id, fresh := madeAgo(10*day), madeAgo(0)
				_, err := process(t, p, id, write(id))
				require.NoError(t, err)
				remember(t, env, 5*day, noDDL)
				for _, want := range []inbox.Outcome{inbox.OutcomeParked, inbox.OutcomeDuplicate} {
					outcome, err := process(t, p, id, write(id))
					require.NoError(t, err)
					require.Equal(t, want, outcome)
				}
				require.Equal(t, 1, effects(t, env, id))
				require.Equal(t, 1, rows(t, env, "inbox_parked"))
				outcome, err := process(t, p, fresh, write(fresh))
				require.NoError(t, err)
				require.Equal(t, inbox.OutcomeCommitted, outcome)
			})
		}
	}
}

// TestI13_BatchesOverRanges: ids of both places, duplicates, ranges that are missing, and
// a message that is too old, in batches.
func TestI13_BatchesOverRanges(t *testing.T) {
	t.Parallel()
	for mode, noDDL := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := forgetting(t, pginbox.MaintenanceConfig{NoDDL: noDDL})
			in, err := pginbox.New(env.Pool, "c", pginbox.Config{})
			require.NoError(t, err)
			old := madeAgo(10 * day)
			_, err = process(t, in, old, write(old))
			require.NoError(t, err)
			remember(t, env, 5*day, noDDL)
			all := []string{madeAgo(0), madeAgo(day), "order-1", madeAgo(2 * day), "order-2", old, madeAgo(0)}
			batch, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{})
			require.NoError(t, err)
			for range 2 {
				msgs := make([]*message.Message, len(all))
				for i, id := range all {
					msgs[i] = bare(id)
				}
				errs := batch.Process(t.Context(), msgs, func(ctx context.Context, msgs []*message.Message) error {
					for _, msg := range msgs {
						if err := write(msg.UUID)(ctx); err != nil {
							return err
						}
					}
					return nil
				})
				for i, id := range all {
					if id == old {
						require.ErrorIs(t, errs[i], driver.ErrTooOld)
					} else {
						require.NoError(t, errs[i])
					}
					require.Equal(t, 1, effects(t, env, id))
				}
			}
		})
	}
}

// TestI7_QueuedStatementsOverRanges sends claim, statements and commit in one pipeline.
func TestI7_QueuedStatementsOverRanges(t *testing.T) {
	t.Parallel()
	for mode, noDDL := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := forgetting(t, pginbox.MaintenanceConfig{NoDDL: noDDL})
			in, err := pginbox.New(env.Pool, "c", pginbox.Config{})
			require.NoError(t, err)
			handle := pginbox.HandleQueued(in, func(_ context.Context, queue *pgx.Batch, msg *message.Message) error {
				queue.Queue(`INSERT INTO effects VALUES ($1)`, msg.UUID)
				return nil
			})
			old, fresh := madeAgo(10*day), madeAgo(0)
			for range 2 {
				require.NoError(t, handle(bare(old)))
				require.NoError(t, handle(bare(fresh)))
			}
			remember(t, env, 5*day, noDDL)
			require.ErrorIs(t, handle(bare(old)), driver.ErrTooOld)
			require.NoError(t, handle(bare(fresh)))
			require.Equal(t, 1, effects(t, env, old))
			require.Equal(t, 1, effects(t, env, fresh))
		})
	}
}
