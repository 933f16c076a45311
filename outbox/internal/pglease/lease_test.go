package pglease_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglease"
)

func TestO14_LeaseComesAndGoes(t *testing.T) {
	t.Parallel()
	db, st, slot, ctx := newDatabase(t), prepared(t), pglease.Slot{Group: "g"}, t.Context()
	a, err := st.Claim(ctx, db.Pool, slot, "a", pglease.Former{}, ttl)
	require.NoError(t, err)
	require.EqualValues(t, 1, a.Epoch)

	_, err = st.Claim(ctx, db.Pool, slot, "b", pglease.Former{}, ttl)
	require.ErrorIs(t, err, driver.ErrLeaseHeld)
	var held *driver.LeaseHeldError
	require.ErrorAs(t, err, &held)
	require.Equal(t, "a", held.Owner)
	require.Positive(t, held.Remaining)
	require.LessOrEqual(t, held.Remaining, ttl)
	require.ErrorContains(t, err, "a, for another")

	require.NoError(t, st.Renew(ctx, db.Pool, a, time.Hour))
	_, err = st.Claim(ctx, db.Pool, slot, "b", pglease.Former{}, ttl)
	require.ErrorAs(t, err, &held)
	require.Greater(t, held.Remaining, ttl)

	other, err := st.Claim(ctx, db.Pool, pglease.Slot{Group: "g", No: 1}, "b", pglease.Former{}, ttl)
	require.NoError(t, err, "another slot is another lease")
	require.EqualValues(t, 1, other.Epoch)

	require.NoError(t, st.Release(ctx, db.Pool, a))
	b, err := st.Claim(ctx, db.Pool, slot, "b", pglease.Former{}, ttl)
	require.NoError(t, err)
	require.EqualValues(t, 2, b.Epoch)
	require.ErrorIs(t, st.Renew(ctx, db.Pool, a, ttl), driver.ErrLeaseLost)
}

func TestO14_ExpiredLeaseIsTaken(t *testing.T) {
	t.Parallel()
	db, st, slot, ctx := newDatabase(t), prepared(t), pglease.Slot{Group: "g"}, t.Context()
	a, err := st.Claim(ctx, db.Pool, slot, "a", pglease.Former{}, time.Millisecond)
	require.NoError(t, err)
	var b pglease.Lease
	require.Eventually(t, func() bool {
		b, err = st.Claim(ctx, db.Pool, slot, "b", pglease.Former{}, ttl)
		return err == nil
	}, 20*time.Second, 2*time.Millisecond, "the lease runs out")
	require.Equal(t, a.Epoch+1, b.Epoch)
	require.ErrorIs(t, st.Renew(ctx, db.Pool, a, ttl), driver.ErrLeaseLost, "it cannot be renewed back")
}

// TestO14_ClockSetBack: a lease that was renewed by a clock that was an hour ahead counts no longer than any other.
// A clock that is set back by a moment ends none.
func TestO14_ClockSetBack(t *testing.T) {
	t.Parallel()
	db, st, slot, ctx := newDatabase(t), prepared(t), pglease.Slot{Group: "g"}, t.Context()
	ahead, err := st.Claim(ctx, db.Pool, slot, "a/1", pglease.Former{}, time.Minute)
	require.NoError(t, err)
	setBack := func(by string) {
		_, err := db.Pool.Exec(ctx, "UPDATE leat.outbox_leases SET lease_from = lease_from + $1::interval, lease_until = lease_until + $1::interval", by)
		require.NoError(t, err)
	}
	for range 2 {
		require.NoError(t, st.Renew(ctx, db.Pool, ahead, time.Minute))
		setBack("1 second")
		require.ErrorIs(t, st.Look(ctx, db.Pool, slot, pglease.Former{}), driver.ErrLeaseHeld)
		_, err = st.Claim(ctx, db.Pool, slot, "b", pglease.Former{}, time.Minute)
		require.ErrorIs(t, err, driver.ErrLeaseHeld)
		setBack("1 hour")
		require.NoError(t, st.Look(ctx, db.Pool, slot, pglease.Former{}))
	}
	_, err = st.Claim(ctx, db.Pool, slot, "b", pglease.Former{}, time.Minute)
	require.NoError(t, err)
	require.ErrorIs(t, st.Renew(ctx, db.Pool, ahead, time.Minute), driver.ErrLeaseLost)
}

// TestO14_FormerIncarnationIsTaken: a reader takes the lease of one of its own
// former incarnations, and of nobody else.
func TestO14_FormerIncarnationIsTaken(t *testing.T) {
	t.Parallel()
	db, st, slot, ctx := newDatabase(t), prepared(t), pglease.Slot{Group: "g"}, t.Context()
	_, err := st.Claim(ctx, db.Pool, slot, "host/7", pglease.Former{}, ttl)
	require.NoError(t, err)
	for name, former := range map[string]pglease.Former{
		"none": {}, "another": {Prefix: "hos_/", Last: 10}, "before it": {Prefix: "host/", Last: 6},
		"one still runs": {Prefix: "host/", Last: 7, Running: []int64{6}},
	} {
		_, err = st.Claim(ctx, db.Pool, slot, "host/8", former, ttl)
		require.ErrorIs(t, err, driver.ErrLeaseHeld, name)
	}
	l, err := st.Claim(ctx, db.Pool, slot, "host/8", pglease.Former{Prefix: "host/", Last: 7}, ttl)
	require.NoError(t, err)
	require.EqualValues(t, 2, l.Epoch)
}

func TestO14_OneOfManyClaims(t *testing.T) {
	t.Parallel()
	db, st, ctx := newDatabase(t), prepared(t), t.Context()
	for round := range 5 {
		slot := pglease.Slot{Group: fmt.Sprint("g", round)}
		results := make(chan error, 8)
		for i := range 8 {
			go func() {
				_, err := st.Claim(ctx, db.Pool, slot, fmt.Sprint("owner", i), pglease.Former{}, ttl)
				results <- err
			}()
		}
		won := 0
		for range 8 {
			if err := <-results; err == nil {
				won++
			} else {
				require.ErrorIs(t, err, driver.ErrLeaseHeld)
			}
		}
		require.Equal(t, 1, won)
	}
}

// TestO14_RivalThatClaimsIsNotWaitedFor: a claim that is under way is not waited
// for.
func TestO14_RivalThatClaimsIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	db, st, slot, ctx := newDatabase(t), prepared(t), pglease.Slot{Group: "g"}, t.Context()
	l, err := st.Claim(ctx, db.Pool, slot, "a", pglease.Former{}, ttl)
	require.NoError(t, err)
	require.NoError(t, st.Release(ctx, db.Pool, l))
	rival, err := db.Connect(t).Begin(ctx)
	require.NoError(t, err)
	_, err = rival.Exec(ctx, "SELECT FROM leat.outbox_leases FOR UPDATE")
	require.NoError(t, err)
	_, err = st.Claim(ctx, db.Pool, slot, "b", pglease.Former{}, ttl)
	require.ErrorIs(t, err, driver.ErrLeaseHeld)
	require.NoError(t, rival.Rollback(ctx))
	_, err = st.Claim(ctx, db.Pool, slot, "b", pglease.Former{}, ttl)
	require.NoError(t, err)
}

// TestO9_ClaimCommitsSynchronously whatever the session's setting.
func TestO9_ClaimCommitsSynchronously(t *testing.T) {
	t.Parallel()
	db, st := newDatabase(t), prepared(t)
	var statements []string
	_, err := st.Claim(t.Context(), recording{db.Pool, &statements}, pglease.Slot{}, "a", pglease.Former{}, ttl)
	require.NoError(t, err)
	require.Equal(t, "SET LOCAL synchronous_commit = on", statements[0])
}

// recording is a Beginner whose transactions note their statements.
type recording struct {
	pglease.Beginner

	statements *[]string
}

func (r recording) BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error) {
	tx, err := r.Beginner.BeginTx(ctx, opts)
	return recordingTx{tx, r.statements}, err
}

type recordingTx struct {
	pgx.Tx

	statements *[]string
}

func (r recordingTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	*r.statements = append(*r.statements, sql)
	return r.Tx.Exec(ctx, sql, args...)
}
