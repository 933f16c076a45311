package pginbox_test

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestI2_WithTheOutboxOfTheSameDatabase enqueues in the inbox's transactions on
// both drivers.
func TestI2_WithTheOutboxOfTheSameDatabase(t *testing.T) {
	t.Parallel()
	for name, newSubject := range map[string]maker{
		"pgx": newSubject, "sql": newSQLSubject,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, testenv.Postgres(t), pginbox.Config{})
			ob, err := pgoutbox.New(s.env.Pool, pgoutbox.Config{})
			require.NoError(t, err)
			require.NoError(t, ob.Migrate(t.Context()))
			p, err := s.Open("tester", inbox.Config{})
			require.NoError(t, err)

			fail := errHandler
			for range 3 {
				_, err := p.Process(t.Context(), message.NewMessage("a", nil), func(ctx context.Context) error {
					err := ob.EnqueueContext(ctx, outbox.Message{ID: "child", Topic: "out", Key: "k"}, outbox.Message{Topic: "out"})
					require.NoError(t, err)
					return fail
				})
				require.ErrorIs(t, err, fail)
				fail = nil
			}

			var rows int
			require.NoError(t, s.env.Pool.QueryRow(t.Context(), `SELECT count(*) FROM leat.outbox`).Scan(&rows))
			require.Equal(t, 2, rows)
		})
	}
}
