package pginbox_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// TestI14_ConnectionToAnotherHistory: whatever claims it, a message whose group read its marks before
// the database went back is refused on a connection that was made after that.
func TestI14_ConnectionToAnotherHistory(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t, template)
	of := driver.GroupTopic{Group: "g", Topic: "orders", Source: uuid.NewString()}
	open := func(name string, cfg pginbox.Config) *pginbox.Inbox {
		in, err := pginbox.New(env.Pool, name, cfg)
		require.NoError(t, err)
		return in
	}
	db := stdlib.OpenDBFromPool(env.Pool)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	onSQL, err := pginbox.NewSQL(db, "sql", pginbox.Config{})
	require.NoError(t, err)
	sameDB, err := pginbox.NewSQL(db, "marks", pginbox.Config{})
	require.NoError(t, err)
	in := open("c", pginbox.Config{})
	other := open("c", pginbox.Config{Table: "other"})
	require.NoError(t, other.Migrate(t.Context()))
	marks, err := in.Marks(t.Context(), of)
	require.NoError(t, err)

	handle := func(of *pginbox.Inbox) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			return of.Handle(func(context.Context, *message.Message) error { return nil })(message.NewMessageWithContext(ctx, uuid.NewString(), nil))
		}
	}
	park := inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 1, Delay: inbox.NoDelay}}
	for name, tt := range map[string]struct {
		marks   *pginbox.Inbox
		deliver func(ctx context.Context) error
	}{
		"one":      {in, handle(in)},
		"attempts": {in, handle(open("parks", pginbox.Config{Config: park}))},
		"sql":      {sameDB, handle(onSQL)},
		"queued": {in, func(ctx context.Context) error {
			return pginbox.HandleQueued(open("queued", pginbox.Config{}), func(context.Context, *pgx.Batch, *message.Message) error {
				return nil
			})(message.NewMessageWithContext(ctx, uuid.NewString(), nil))
		}},
		"batch": {in, func(ctx context.Context) error {
			batch, err := inbox.NewBatch(open("batch", pginbox.Config{}).Processor, inbox.BatchConfig{})
			require.NoError(t, err)
			msgs := []*message.Message{message.NewMessageWithContext(ctx, uuid.NewString(), nil), message.NewMessageWithContext(ctx, uuid.NewString(), nil)}
			return errors.Join(batch.Handle(func(context.Context, []*message.Message) error { return nil })(ctx, msgs)...)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ErrorIs(t, tt.deliver(driver.WithMarks(t.Context(), tt.marks, "another")), driver.ErrMarksMoved)
			require.NoError(t, tt.deliver(driver.WithMarks(t.Context(), tt.marks, marks.History)))
			require.NoError(t, tt.deliver(driver.WithMarks(t.Context(), other, "another")), "the marks are somewhere else")
			parked, err := pginbox.NewAdmin(env.Pool, pginbox.Config{})
			require.NoError(t, err)
			list, err := parked.Parked(t.Context(), admin.ParkedQuery{})
			require.NoError(t, err)
			require.Empty(t, list)
		})
	}
}
