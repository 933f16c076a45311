package pginbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

var somebody = admin.By{Actor: "alice", Reason: "bug 7 is fixed"}

// allParked selects all that waits for an operator.
var allParked = admin.Selection{Before: time.Now().Add(24 * time.Hour)}

// operators is all that NewAdmin returns.
type operators interface {
	admin.Inbox
	admin.Auditor
	admin.Retainer
	admin.Watermarks
}

func adminOf(t *testing.T, pool *pgxpool.Pool) operators {
	t.Helper()
	a, err := pginbox.NewAdmin(pool, pginbox.Config{})
	require.NoError(t, err)
	return a.(operators)
}

func newShop(t *testing.T, pool *pgxpool.Pool) *pginbox.Inbox {
	t.Helper()
	in, err := pginbox.New(pool, "shop", pginbox.Config{Config: inbox.Config{
		OnFailure: inbox.Policy{Action: inbox.Park}, RedrivePoll: 5 * time.Millisecond,
	}})
	require.NoError(t, err)
	return in
}

// states are the ids of the parked messages with their states.
func states(t *testing.T, a operators) map[string]admin.ParkedState {
	t.Helper()
	parked, err := a.Parked(t.Context(), admin.ParkedQuery{})
	require.NoError(t, err)
	all := map[string]admin.ParkedState{}
	for _, p := range parked {
		all[p.ID] = p.State
	}
	return all
}

// TestI1_RedriveGoesOnAfterACrash: a process ends between the commit of a
// redriven message and the next one of its key, which then waits for nobody.
func TestI1_RedriveGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, template)
	in := newShop(t, db.Pool)
	for _, id := range []string{"a1", "a2", "a3"} {
		msg := message.NewMessageWithContext(t.Context(), id, nil)
		msg.Metadata.Set("leat_key", "a")
		_, err := in.Process(t.Context(), msg, func(context.Context) error { return inbox.Permanent(errHandler) })
		require.NoError(t, err)
	}
	_, err := db.Pool.Exec(t.Context(), `DELETE FROM leat.inbox_parked WHERE message_id = 'a1'`)
	require.NoError(t, err)
	require.Equal(t, map[string]admin.ParkedState{"a2": "wait", "a3": "wait"}, states(t, adminOf(t, db.Pool)))

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var ran []string
	err = in.RunRedrive(ctx, func(_ context.Context, msg *message.Message) error {
		if ran = append(ran, msg.UUID); len(ran) == 2 {
			defer cancel()
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []string{"a2", "a3"}, ran)
}

// TestI4_ClockSetBack: a message was redriven by a clock that was an hour ahead. It runs soon after the clock is right.
func TestI4_ClockSetBack(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, template)
	in := newShop(t, db.Pool)
	_, err := in.Process(t.Context(), message.NewMessage("a", nil), func(context.Context) error { return inbox.Permanent(errHandler) })
	require.NoError(t, err)
	tag, err := db.Pool.Exec(t.Context(), `UPDATE leat.inbox_parked SET state = 'redrive', next_at = clock_timestamp() + interval '1 hour'`)
	require.NoError(t, err)
	require.EqualValues(t, 1, tag.RowsAffected())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ran := false
	err = in.RunRedrive(ctx, func(context.Context, *message.Message) error {
		defer cancel()
		ran = true
		return nil
	})
	require.NoError(t, err)
	require.True(t, ran)
}

// TestAttemptsAreForgotten: rows of messages that were processed go by the
// hundred, the others by age.
func TestAttemptsAreForgotten(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, template)
	in := newShop(t, db.Pool)
	rows := func() (n int) {
		require.NoError(t, db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM leat.inbox_attempts`).Scan(&n))
		return n
	}
	for i := range 200 {
		_, err := process(t, in, time.Duration(i).String(), nothing)
		require.NoError(t, err)
	}
	require.Equal(t, 200-128, rows())
	_, err := process(t, in, "fails", func(context.Context) error { return errHandler })
	require.ErrorIs(t, err, errHandler)
	require.Equal(t, 73, rows())
}
