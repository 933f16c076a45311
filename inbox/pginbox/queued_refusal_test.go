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
	"github.com/leat-go/leat/outbox"
)

// TestI10_QueuedRefusesNotes: what has to be kept beside the id is not there when
// COMMIT is sent, so every message is refused, nothing runs, and nothing is acked.
func TestI10_QueuedRefusesNotes(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t, template)
	never := func(context.Context, *pgx.Batch, *message.Message) error {
		require.Fail(t, "the handler was called")
		return nil
	}
	for name, cfg := range map[string]inbox.Config{
		"fingerprint": {Fingerprint: inbox.FingerprintPayload},
		"replies":     {KeepReplies: true},
	} {
		in, err := pginbox.New(env.Pool, "c", pginbox.Config{Config: cfg})
		require.NoError(t, err)
		handle := pginbox.HandleQueued(in, never)
		for range 2 {
			err := handle(bare("a"))
			require.ErrorIs(t, err, outbox.ErrInvalidConfig, name)
			require.ErrorContains(t, err, "HandleQueued")
		}
	}
	in, err := pginbox.NewSQL(env.SQL(t), "c", pginbox.Config{})
	require.NoError(t, err)
	require.ErrorContains(t, pginbox.HandleQueued(in, never)(bare("a")), "New")

	plain, err := pginbox.New(env.Pool, "c", pginbox.Config{})
	require.NoError(t, err)
	outcome, err := process(t, plain, "a", nothing)
	require.NoError(t, err)
	require.Equal(t, inbox.OutcomeCommitted, outcome, "no trace of it was left")
}
