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

func adminOf(t *testing.T, pool *pgxpool.Pool) *pginbox.Admin {
	t.Helper()
	a, err := pginbox.NewAdmin(pool, pginbox.Config{})
	require.NoError(t, err)
	return a
}

// shop is a consumer with parked messages: a1, and a2 and a3 behind it, of key a;
// b1, and b2 behind it, of key b; n without a key.
func shop(t *testing.T) (*pginbox.Inbox, *pginbox.Admin) {
	t.Helper()
	pool := testenv.Postgres(t, template).Pool
	in := newShop(t, pool)
	for _, id := range []string{"a1", "b1", "a2", "n", "a3", "b2"} {
		msg := message.NewMessageWithContext(t.Context(), id, []byte(id))
		if id != "n" {
			msg.Metadata.Set("leat_key", id[:1])
		}
		outcome, err := in.Process(t.Context(), msg, func(context.Context) error { return inbox.Permanent(errHandler) })
		require.NoError(t, err)
		require.Equal(t, inbox.OutcomeParked, outcome)
	}
	return in, adminOf(t, pool)
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
func states(t *testing.T, a *pginbox.Admin) map[string]admin.ParkedState {
	t.Helper()
	parked, err := a.Parked(t.Context(), admin.ParkedQuery{})
	require.NoError(t, err)
	all := map[string]admin.ParkedState{}
	for _, p := range parked {
		all[p.ID] = p.State
	}
	return all
}

func TestAdmin_List(t *testing.T) {
	t.Parallel()
	_, a := shop(t)
	parked, err := a.Parked(t.Context(), admin.ParkedQuery{Consumer: "shop", Key: "a"})
	require.NoError(t, err)
	require.Len(t, parked, 3)
	first := parked[0]
	require.Equal(t, "a1", first.ID)
	require.Equal(t, admin.StateParked, first.State)
	require.Equal(t, errHandler.Error(), first.Reason)
	require.Equal(t, 1, first.History.Attempts)
	require.Len(t, first.History.Errors, 1)
	require.Equal(t, errHandler.Error(), first.History.Errors[0].Error)
	require.False(t, first.ParkedAt.Before(first.History.First))
	require.Equal(t, message.Payload("a1"), first.Message.Payload)
	require.Equal(t, admin.StateWait, parked[1].State)
	require.Empty(t, parked[1].Reason)

	page, err := a.Parked(t.Context(), admin.ParkedQuery{After: first.No, Limit: 2})
	require.NoError(t, err)
	require.Len(t, page, 2)
	require.Equal(t, "b1", page[0].ID)
	byID, err := a.Parked(t.Context(), admin.ParkedQuery{ID: "n", Before: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	require.Len(t, byID, 1)
	none, err := a.Parked(t.Context(), admin.ParkedQuery{Topic: "elsewhere"})
	require.NoError(t, err)
	require.Empty(t, none)
	_, err = a.Parked(t.Context(), admin.ParkedQuery{Limit: -1})
	require.ErrorIs(t, err, admin.ErrInvalidRequest)
}

func TestAdmin_Redrive(t *testing.T) {
	t.Parallel()
	_, a := shop(t)
	changed, err := a.Redrive(t.Context(), admin.ChangeRequest{By: somebody, Consumer: "shop", Selection: admin.Selection{ID: "a2"}})
	require.NoError(t, err)
	require.Equal(t, []string{"a1"}, changed.IDs, "a key is redriven as a whole")
	_, err = a.Redrive(t.Context(), admin.ChangeRequest{By: somebody, Consumer: "shop", Selection: admin.Selection{Key: "a"}})
	require.ErrorIs(t, err, admin.ErrBeingRetried)
	_, err = a.Drop(t.Context(), admin.ChangeRequest{By: somebody, Consumer: "shop", Selection: admin.Selection{Key: "a"}})
	require.ErrorIs(t, err, admin.ErrBeingRetried)
	_, err = a.SkipHead(t.Context(), admin.SkipHeadRequest{By: somebody, Consumer: "shop", Key: "a"})
	require.ErrorIs(t, err, admin.ErrBeingRetried)

	changed, err = a.Redrive(t.Context(), admin.ChangeRequest{By: somebody, Consumer: "shop", Selection: admin.Selection{Before: time.Now().Add(time.Hour)}})
	require.NoError(t, err)
	require.Equal(t, []string{"b1", "n"}, changed.IDs)
	require.Equal(t, map[string]admin.ParkedState{"a1": "redrive", "a2": "wait", "a3": "wait", "b1": "redrive", "b2": "wait", "n": "redrive"}, states(t, a))

	changed, err = a.Redrive(t.Context(), admin.ChangeRequest{By: somebody, Consumer: "shop", Selection: admin.Selection{OfTopic: "elsewhere"}})
	require.NoError(t, err)
	require.Zero(t, changed.Count)
}

func TestAdmin_DropAndSkip(t *testing.T) {
	t.Parallel()
	in, a := shop(t)
	changed, err := a.SkipHead(t.Context(), admin.SkipHeadRequest{By: somebody, Consumer: "shop", Key: "a"})
	require.NoError(t, err)
	require.Equal(t, []string{"a1"}, changed.IDs)
	changed, err = a.Drop(t.Context(), admin.ChangeRequest{By: somebody, Consumer: "shop", Selection: admin.Selection{Key: "b"}})
	require.NoError(t, err)
	require.Equal(t, []string{"b1", "b2"}, changed.IDs)
	changed, err = a.Drop(t.Context(), admin.ChangeRequest{By: somebody, Consumer: "shop", Selection: admin.Selection{ID: "a3"}})
	require.NoError(t, err)
	require.Equal(t, []string{"a3"}, changed.IDs)
	changed, err = a.Drop(t.Context(), admin.ChangeRequest{By: somebody, Consumer: "shop", Selection: admin.Selection{Before: time.Now().Add(time.Hour)}})
	require.NoError(t, err)
	require.Equal(t, []string{"n"}, changed.IDs)
	require.Equal(t, map[string]admin.ParkedState{"a2": "redrive"}, states(t, a), "the next one is due")

	outcome, err := process(t, in, "a1", nothing)
	require.NoError(t, err)
	require.Equal(t, inbox.OutcomeDuplicate, outcome, "what was dropped does not run")

	for _, sel := range []admin.Selection{{Key: "b"}, {ID: "n"}, {Key: "never"}} {
		_, err = a.Drop(t.Context(), admin.ChangeRequest{By: somebody, Consumer: "shop", Selection: sel})
		require.ErrorIs(t, err, admin.ErrNotParked)
	}
	audit, err := a.Audit(t.Context(), admin.AuditQuery{})
	require.NoError(t, err)
	var done []string
	for _, e := range audit {
		done = append(done, e.Action+" "+e.ID+" "+e.Actor)
	}
	require.Equal(t, []string{
		"park a1 shop", "park b1 shop", "park n shop",
		"skip_head a1 alice", "drop b2 alice", "drop b1 alice", "drop a3 alice", "drop n alice",
	}, done)
	require.Contains(t, string(audit[3].Details), errHandler.Error())
	require.Equal(t, somebody.Reason, audit[3].Reason)
	one, err := a.Audit(t.Context(), admin.AuditQuery{ID: "b1", Action: "drop", After: audit[2].No, Since: audit[0].At})
	require.NoError(t, err)
	require.Len(t, one, 1)
}

func TestAdmin_RefusesBadRequests(t *testing.T) {
	t.Parallel()
	in, a := shop(t)
	for name, tt := range map[string]struct {
		by   admin.By
		sel  admin.Selection
		want string
	}{
		"actor":   {admin.By{Reason: "r"}, admin.Selection{ID: "n"}, "Actor is empty"},
		"reason":  {admin.By{Actor: "a", Reason: " "}, admin.Selection{ID: "n"}, "Reason is empty"},
		"text":    {admin.By{Actor: "a\x00", Reason: "r"}, admin.Selection{ID: "n"}, "valid UTF-8 without NUL"},
		"nothing": {somebody, admin.Selection{}, "select by Topic and Key, by ID, or by OfTopic, Fingerprint and Before"},
		"twice":   {somebody, admin.Selection{ID: "n", Key: "a"}, "select by Topic and Key"},
		"no key":  {somebody, admin.Selection{Topic: "t", ID: "n"}, "a key needs both"},
		"limit":   {somebody, admin.Selection{ID: "n", Limit: 10_001}, "Limit = 10001: must be 1 to 10000"},
		"bytes":   {somebody, admin.Selection{OfTopic: "\xff"}, "valid UTF-8 without NUL"},
	} {
		_, err := a.Redrive(t.Context(), admin.ChangeRequest{By: tt.by, Consumer: "shop", Selection: tt.sel})
		require.ErrorIs(t, err, admin.ErrInvalidRequest, name)
		require.ErrorContains(t, err, tt.want, name)
	}
	require.Len(t, states(t, a), 6)
	_, err := in.PruneAttempts(t.Context(), 0, 1)
	require.ErrorIs(t, err, admin.ErrInvalidRequest)
	_, err = a.Audit(t.Context(), admin.AuditQuery{Limit: 10_001})
	require.ErrorIs(t, err, admin.ErrInvalidRequest)
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
	n, err := in.PruneAttempts(t.Context(), time.Hour, 1000)
	require.NoError(t, err)
	require.Zero(t, n)
	n, err = in.PruneAttempts(t.Context(), time.Microsecond, 1000)
	require.NoError(t, err)
	require.Equal(t, int64(73), n)
	require.Zero(t, rows())
	n, err = in.PruneNotes(t.Context(), time.Hour, 1)
	require.NoError(t, err)
	require.Zero(t, n)
}
