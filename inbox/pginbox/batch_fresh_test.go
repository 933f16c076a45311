package pginbox_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// TestBatchRoundTrips counts writes: a batch is claimed by one, whether its messages are
// taken for new or looked for first, except the one that turned out to hold a duplicate.
func TestBatchRoundTrips(t *testing.T) {
	t.Parallel()
	s := newSubject(t, testenv.Postgres(t), pginbox.Config{})
	b, err := s.OpenBatch("tester", inbox.Config{BusyDelay: inbox.NoDelay}, inbox.BatchConfig{})
	require.NoError(t, err)
	const rest = 2 // the effects, and COMMIT
	next := 0
	deliver := func(again ...string) int64 {
		t.Helper()
		next++
		ids := append([]string{strconv.Itoa(next) + "a", strconv.Itoa(next) + "b"}, again...)
		var msgs []*message.Message
		for _, id := range ids {
			msgs = append(msgs, delivery(t.Context(), id))
		}
		before := s.cable.Writes()
		errs := b.Process(t.Context(), msgs, func(ctx context.Context, fresh []*message.Message) error {
			require.Len(t, fresh, 2)
			return s.Write(ctx, strconv.Itoa(next))
		})
		for _, err := range errs {
			require.NoError(t, err)
		}
		return s.cable.Writes() - before
	}
	deliver() // prepares the statement and looks up the consumer
	require.EqualValues(t, 1+rest, deliver())
	deliver("1a") // turned away by an error: pgx forgets the statement
	for range 100 {
		require.EqualValues(t, 1+rest, deliver("1b"), "claimed by the statement that tells which")
	}
	deliver() // prepares the statement again
	require.EqualValues(t, 1+rest, deliver(), "taken for new again")
	deliver("1a")
	require.EqualValues(t, 1+rest, deliver("1b"))
}
