package pglease_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglease"
)

// holder claims the lease of slot on a session of its own, as a relay does.
func holder(t *testing.T, db *testenv.Database, slot pglease.Slot) (*pgx.Conn, pglease.Lease) {
	t.Helper()
	claimant, err := pglease.NewClaimant()
	require.NoError(t, err)
	conn, attempt := db.Connect(t), claimant.Begin()
	owner, err := prepared(t).Lock(t.Context(), conn, attempt)
	require.NoError(t, err)
	lease, err := prepared(t).Claim(t.Context(), conn, slot, owner, attempt.Former, ttl)
	require.NoError(t, err)
	return conn, lease
}

// bury gives up what can be, as a claim does.
func bury(t *testing.T, db *testenv.Database) []string {
	t.Helper()
	owners, err := prepared(t).BuryNow(t.Context(), db.Pool, "g")
	require.NoError(t, err)
	return owners
}

// TestO14_LeaseOfADeadSessionIsTaken: it need not run out, and while the session lives it is
// nobody else's.
func TestO14_LeaseOfADeadSessionIsTaken(t *testing.T) {
	t.Parallel()
	db, st, slot, ctx := newDatabase(t), prepared(t), pglease.Slot{Group: "g"}, t.Context()
	require.NoError(t, st.Look(ctx, db.Pool, slot, pglease.Former{}), "nobody holds it")
	conn, lease := holder(t, db, slot)
	require.Contains(t, lease.Owner, "/01")
	require.Empty(t, bury(t, db))
	var held *driver.LeaseHeldError
	require.ErrorAs(t, st.Look(ctx, db.Pool, slot, pglease.Former{}), &held)
	require.Equal(t, pglease.Retry, held.Retry)
	require.Equal(t, lease.Owner, held.Owner)
	require.NoError(t, st.Look(ctx, db.Pool, slot, pglease.Former{Prefix: pglease.NameOf(lease.Owner) + "/", Last: 1}), "it is our own")

	require.NoError(t, conn.Close(ctx))
	require.Eventually(t, func() bool { return st.Look(ctx, db.Pool, slot, pglease.Former{}) == nil }, 20*time.Second, time.Millisecond)
	_, err := st.Claim(ctx, db.Pool, slot, "next", pglease.Former{}, ttl)
	require.ErrorIs(t, err, driver.ErrLeaseHeld, "a claim alone goes by the time")
	require.Equal(t, []string{lease.Owner}, bury(t, db))
	require.ErrorIs(t, st.Renew(ctx, db.Pool, lease, ttl), driver.ErrLeaseLost)
	next, err := st.Claim(ctx, db.Pool, slot, "next", pglease.Former{}, ttl)
	require.NoError(t, err)
	require.Equal(t, lease.Epoch+1, next.Epoch)
}

// TestO14_UnmarkedLeaseCounts: of a release without locks, and of a relay behind a pooler, nobody
// can know whether it lives.
func TestO14_UnmarkedLeaseCounts(t *testing.T) {
	t.Parallel()
	db, st, slot, ctx := newDatabase(t), prepared(t), pglease.Slot{Group: "g"}, t.Context()
	claimant, err := pglease.NewClaimant()
	require.NoError(t, err)
	conn, attempt := db.Connect(t), claimant.Begin()
	_, err = st.Claim(ctx, conn, slot, attempt.Owner, attempt.Former, ttl)
	require.NoError(t, err)
	require.NoError(t, conn.Close(ctx))
	var held *driver.LeaseHeldError
	require.ErrorAs(t, st.Look(ctx, db.Pool, slot, pglease.Former{}), &held)
	require.Zero(t, held.Retry)
	require.Empty(t, bury(t, db))

	_, err = db.Pool.Exec(ctx, "REVOKE EXECUTE ON FUNCTION pg_try_advisory_lock(bigint) FROM PUBLIC; CREATE ROLE "+role(db)+" LOGIN; GRANT USAGE ON SCHEMA leat TO "+role(db))
	require.NoError(t, err)
	conn = db.Connect(t)
	_, err = conn.Exec(ctx, "SET ROLE "+role(db))
	require.NoError(t, err)
	owner, err := st.Lock(ctx, conn, claimant.Begin())
	require.NoError(t, err, "without the right")
	require.True(t, strings.HasSuffix(owner, "/2"), owner)
}

func role(db *testenv.Database) string { return pgx.Identifier{db.Name}.Sanitize() }

// TestO9_BuriesNobodyElse: between the look and the burial the lease changes hands.
func TestO9_BuriesNobodyElse(t *testing.T) {
	t.Parallel()
	db, st, slot, ctx := newDatabase(t), prepared(t), pglease.Slot{Group: "g"}, t.Context()
	conn, lease := holder(t, db, slot)
	require.NoError(t, conn.Close(ctx))
	require.Eventually(t, func() bool { return st.Look(ctx, db.Pool, slot, pglease.Former{}) == nil }, 20*time.Second, time.Millisecond)

	tx, err := db.Pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	require.NoError(t, err)
	gone, err := st.Gone(ctx, tx, "g")
	require.NoError(t, err)
	require.Equal(t, []string{lease.Owner}, gone)
	require.Empty(t, bury(t, db), "another one is about to")
	var next pglease.Lease
	buried, err := st.Bury(ctx, between{tx, func() {
		require.NoError(t, st.Release(ctx, db.Pool, lease))
		next, err = st.Claim(ctx, db.Pool, slot, "next", pglease.Former{}, ttl)
		require.NoError(t, err)
	}}, "g")
	require.NoError(t, err)
	require.Empty(t, buried)
	require.NoError(t, tx.Commit(ctx))
	require.NoError(t, st.Renew(ctx, db.Pool, next, ttl))
}

// between is a transaction in which something happens before each change.
type between struct {
	pgx.Tx

	happens func()
}

func (b between) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	b.happens()
	return b.Tx.Exec(ctx, sql, args...)
}
