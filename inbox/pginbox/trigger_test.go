package pginbox_test

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// suppress keeps ids from being inserted: by a trigger before INSERT.
func (s *subject) suppress(t *testing.T) {
	t.Helper()
	_, err := s.pool.Exec(t.Context(), `
		CREATE FUNCTION `+s.schema+`.suppress() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
		CREATE TRIGGER suppress BEFORE INSERT ON `+s.schema+`.inbox FOR EACH ROW EXECUTE FUNCTION `+s.schema+`.suppress()`)
	require.NoError(t, err)
}

// TestI1_SuppressedInsertIsRefused: without the look at the triggers a batch would take new
// messages for processed, and acknowledge them.
func TestI1_SuppressedInsertIsRefused(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(t *testing.T, s *subject, in *pginbox.Inbox) error{
		"single": func(t *testing.T, s *subject, in *pginbox.Inbox) error {
			t.Helper()
			_, err := process(t, in, "a", func(ctx context.Context) error { return s.Write(ctx, "a") })
			return err
		},
		"batch": func(t *testing.T, s *subject, in *pginbox.Inbox) error {
			t.Helper()
			write := func(ctx context.Context, _ []*message.Message) error { return s.Write(ctx, "a") }
			return newBatchOf(t, in).Process(t.Context(), []*message.Message{delivery(t.Context(), "a"), delivery(t.Context(), "b")}, write)[0]
		},
		"queued": func(t *testing.T, s *subject, in *pginbox.Inbox) error {
			t.Helper()
			return pginbox.HandleQueued(in, func(_ context.Context, queue *pgx.Batch, msg *message.Message) error {
				s.queueEffect(queue, msg)
				return nil
			})(delivery(t.Context(), "a"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, testenv.Postgres(t), pginbox.Config{})
			s.suppress(t)
			err := use(t, s, s.queuedInbox(t))
			require.ErrorIs(t, err, pgclaim.ErrInsertTrigger)
			require.ErrorContains(t, err, "suppress on ")
			s.requireEffects(t)
			_, err = s.pool.Exec(t.Context(), `ALTER TABLE `+s.schema+`.inbox DISABLE TRIGGER suppress`)
			require.NoError(t, err)
			require.NoError(t, use(t, s, s.queuedInbox(t)))
		})
	}
}

// TestI1_QueuedCountsItsClaim: the trigger is created while connections are open.
func TestI1_QueuedCountsItsClaim(t *testing.T) {
	t.Parallel()
	for name, asks := range map[string]bool{"committed": false, "held back": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, testenv.Postgres(t), pginbox.Config{})
			handle := pginbox.HandleQueued(s.queuedInbox(t), func(_ context.Context, queue *pgx.Batch, msg *message.Message) error {
				query := s.queueEffect(queue, msg)
				if asks {
					query.Exec(func(pgconn.CommandTag) error { return nil })
				}
				return nil
			})
			require.NoError(t, handle(delivery(t.Context(), "a")))
			s.suppress(t)
			require.ErrorIs(t, handle(delivery(t.Context(), "b")), pgclaim.ErrNotRemembered)
			want := []string{"a"}
			if !asks {
				want = append(want, "b")
			}
			for range 3 {
				require.ErrorIs(t, handle(delivery(t.Context(), "b")), inbox.ErrBusy)
			}
			s.requireEffects(t, want...)
			_, err := s.pool.Exec(t.Context(), `DROP TRIGGER suppress ON `+s.schema+`.inbox`)
			require.NoError(t, err)
			require.NoError(t, handle(delivery(t.Context(), "c")))
			s.requireEffects(t, append(want, "c")...)
		})
	}
}
