package pginbox_test

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

func newBatchOf(t *testing.T, in *pginbox.Inbox) *inbox.Batch {
	t.Helper()
	b, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{})
	require.NoError(t, err)
	return b
}

// TestI13_EachSwallowsAnError: the statement of the next message finds the transaction
// aborted. The one that has swallowed the error is found, and nobody else is judged.
func TestI13_EachSwallowsAnError(t *testing.T) {
	t.Parallel()
	for name, swallower := range map[string]string{"in front": "a", "in the middle": "c", "at the end": "e"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, testenv.Postgres(t), pginbox.Config{})
			in, err := pginbox.New(s.pool, "tester", s.cfg)
			require.NoError(t, err)
			process := newBatchOf(t, in).HandleEach(func(ctx context.Context, msg *message.Message) error {
				tx := pginbox.Tx(ctx)
				if err := s.Write(ctx, msg.UUID); err != nil {
					return err
				}
				if msg.UUID == swallower {
					_, err := tx.Exec(ctx, `SELECT 1/0`)
					require.Error(t, err)
				}
				return nil
			})
			var msgs []*message.Message
			var want []string
			for _, id := range []string{"a", "b", "c", "d", "e"} {
				msgs = append(msgs, delivery(t.Context(), id))
				if id != swallower {
					want = append(want, id)
				}
			}
			for i, err := range process(t.Context(), msgs) {
				if msgs[i].UUID == swallower {
					require.ErrorIs(t, err, pgx.ErrTxCommitRollback)
				} else {
					require.NoError(t, err)
				}
			}
			s.requireEffects(t, want...)
		})
	}
}
