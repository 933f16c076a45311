package pgdedupe_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/dedupetest"
	"github.com/leat-go/leat/dedupe/pgdedupe"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

//leat:level 1
func TestMain(m *testing.M) { testenv.Main(m) }

type subject struct {
	*pgdedupe.Store

	pool *pgxpool.Pool
}

func (s subject) Lose(ctx context.Context, key dedupe.Key) error {
	_, err := s.pool.Exec(ctx, "DELETE FROM leat.dedupe WHERE consumer = $1 AND id = $2", key.Consumer, []byte(key.ID))
	return err
}

func newSubject(t *testing.T) subject {
	t.Helper()
	db := testenv.Postgres(t)
	s, err := pgdedupe.New(db.Pool, pgdedupe.Config{})
	require.NoError(t, err)
	require.NoError(t, s.Migrate(t.Context()))
	return subject{s, db.Pool}
}

func TestStore_Conformance(t *testing.T) {
	t.Parallel()
	dedupetest.Run(t, func(t *testing.T) dedupetest.Subject {
		t.Helper()
		return newSubject(t)
	})
}

// TestD3_UntilTTL: what has expired counts as gone, pruned or not.
func TestD3_UntilTTL(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	claim := func(id, token string) dedupe.Claim {
		c, err := s.Claim(t.Context(), dedupe.Key{Consumer: "c", ID: id}, dedupe.Request{Token: token, Lease: time.Minute})
		require.NoError(t, err)
		return c
	}
	for _, id := range []string{"done", "busy", "lost", "kept"} {
		require.Equal(t, dedupe.Claimed, claim(id, "t").Status)
	}
	complete := func(id, token string) dedupe.Completion {
		c, err := s.Complete(t.Context(), dedupe.Key{Consumer: "c", ID: id}, token, nil)
		require.NoError(t, err)
		return c
	}
	require.Equal(t, dedupe.Completed, complete("done", "t"))
	_, err := s.pool.Exec(t.Context(), "UPDATE leat.dedupe SET expires_at = clock_timestamp() WHERE id <> 'kept'")
	require.NoError(t, err)

	require.Equal(t, dedupe.Claim{Status: dedupe.Claimed, Attempt: 1}, claim("done", "u"))
	require.Equal(t, dedupe.Claim{Status: dedupe.Claimed, Attempt: 1}, claim("busy", "u"))
	require.ErrorIs(t, s.Extend(t.Context(), dedupe.Key{Consumer: "c", ID: "lost"}, "t", time.Minute), dedupe.ErrFenced)
	n, err := s.Prune(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	require.Equal(t, dedupe.Resurrected, complete("lost", "t"))
	require.Equal(t, dedupe.Busy, claim("kept", "u").Status)
}

// TestD3_ClockThatJumps: what was done is not forgotten by a server's clock that is ahead by a month, pruned or not, nor what
// was done while it was a month behind.
func TestD3_ClockThatJumps(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	at := func(off string) *pgdedupe.Store {
		s, err := pgdedupe.New(db.ClockOff(t, off), pgdedupe.Config{})
		require.NoError(t, err)
		return s
	}
	right, ahead, behind := at("0"), at("30 days"), at("-30 days")
	require.NoError(t, right.Migrate(t.Context()))
	claim := func(s *pgdedupe.Store, id, token string) dedupe.Status {
		c, err := s.Claim(t.Context(), dedupe.Key{Consumer: "c", ID: id}, dedupe.Request{Token: token, Lease: time.Minute})
		require.NoError(t, err)
		return c.Status
	}
	for id, s := range map[string]*pgdedupe.Store{"right": right, "behind": behind} {
		require.Equal(t, dedupe.Claimed, claim(s, id, "t"))
		_, err := s.Complete(t.Context(), dedupe.Key{Consumer: "c", ID: id}, "t", nil)
		require.NoError(t, err)
		for _, other := range []*pgdedupe.Store{ahead, right} {
			require.Equal(t, dedupe.Done, claim(other, id, "u"), id)
			n, err := other.Prune(t.Context())
			require.NoError(t, err)
			require.Zero(t, n, id)
		}
	}
}

// TestD4_ClockSetBack: a lease that was given by a clock that was an hour ahead holds nobody up for longer than any other.
func TestD4_ClockSetBack(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	key := dedupe.Key{Consumer: "c", ID: "id"}
	claim := func(token string) dedupe.Claim {
		c, err := s.Claim(t.Context(), key, dedupe.Request{Token: token, Lease: 5 * time.Second})
		require.NoError(t, err)
		return c
	}
	require.Equal(t, dedupe.Claimed, claim("t").Status)
	require.NoError(t, s.Extend(t.Context(), key, "t", time.Minute))
	_, err := s.pool.Exec(t.Context(), "UPDATE leat.dedupe SET lease_until = lease_until + interval '1 hour', expires_at = expires_at + interval '1 hour'")
	require.NoError(t, err)
	held := claim("u")
	require.Equal(t, dedupe.Busy, held.Status)
	require.LessOrEqual(t, held.Remaining, time.Minute)
	var left time.Duration
	require.NoError(t, s.pool.QueryRow(t.Context(), "SELECT lease_until - clock_timestamp() FROM leat.dedupe").Scan(&left))
	require.LessOrEqual(t, left, time.Minute, "it has begun again")
	require.Greater(t, left, 30*time.Second)
}

// TestD1_LeaseEndsDuringAClaim lets a second pass with each reading of the server's
// clock, and the lease end at one of them while its holder claims again: the record is
// still its own, or taken over as another attempt, and nothing in between.
func TestD1_LeaseEndsDuringAClaim(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	_, err := s.pool.Exec(t.Context(), `CREATE SCHEMA clock; CREATE SEQUENCE clock.second;
		CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql
			AS $$ SELECT timestamptz '2030-01-01' + nextval('clock.second') * interval '1 second' $$`)
	require.NoError(t, err)
	cfg := s.pool.Config()
	cfg.ConnConfig.RuntimeParams["search_path"] = "clock, pg_catalog"
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	store, err := pgdedupe.New(pool, pgdedupe.Config{})
	require.NoError(t, err)
	held, over := dedupe.Claim{Status: dedupe.Claimed, Attempt: 1}, dedupe.Claim{Status: dedupe.Claimed, Attempt: 2, Takeover: true}
	seen := map[bool]int{}
	for second := range 12 {
		key := dedupe.Key{Consumer: "c", ID: strconv.Itoa(second)}
		claim := func() dedupe.Claim {
			c, err := store.Claim(t.Context(), key, dedupe.Request{Token: "t", Lease: time.Hour})
			require.NoError(t, err)
			return c
		}
		require.Equal(t, held, claim())
		_, err := s.pool.Exec(t.Context(), `UPDATE leat.dedupe SET lease_until = timestamptz '2030-01-01' + (SELECT last_value + $2 FROM clock.second) * interval '1 second'
			WHERE id = $1`, []byte(key.ID), second)
		require.NoError(t, err)
		again := claim()
		require.Contains(t, []dedupe.Claim{held, over}, again)
		seen[again.Takeover]++
	}
	require.Len(t, seen, 2, "it ended before the claim's reading, and after it")
}

func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	_, err := pgdedupe.New(nil, pgdedupe.Config{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	pool, err := pgxpool.New(t.Context(), "postgres://localhost/none")
	require.NoError(t, err)
	defer pool.Close()
	for want, cfg := range map[string]pgdedupe.Config{
		"TTL = 1ms":                {TTL: time.Millisecond},
		"Schema, Table":            {Table: "\x00"},
		"MigrateLockTimeout = 1ns": {MigrateLockTimeout: 1},
	} {
		_, err := pgdedupe.New(pool, cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, want)
	}
	files, err := pgdedupe.Migrations(pgdedupe.Config{})
	require.NoError(t, err)
	require.NotNil(t, files)
}

// The status tells a database without the table from one that is up to date.
func TestStore_SchemaStatus(t *testing.T) {
	t.Parallel()
	s, err := pgdedupe.New(testenv.Postgres(t).Pool, pgdedupe.Config{})
	require.NoError(t, err)
	before, err := s.SchemaStatus(t.Context())
	require.NoError(t, err)
	require.Zero(t, before.Current)
	require.Positive(t, before.Latest)
	require.NoError(t, s.Migrate(t.Context()))
	after, err := s.SchemaStatus(t.Context())
	require.NoError(t, err)
	require.Equal(t, admin.SchemaStatus{Current: before.Latest, Latest: before.Latest}, after)
}

// TestD8_RefusedSessionLeavesThePool: another part of the service has made the one session of
// the pool read only. A step fails, and the next one gets another session.
func TestD8_RefusedSessionLeavesThePool(t *testing.T) {
	t.Parallel()
	cfg := newSubject(t).pool.Config()
	cfg.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	defer pool.Close()
	s, err := pgdedupe.New(pool, pgdedupe.Config{})
	require.NoError(t, err)
	key := dedupe.Key{Consumer: "c", ID: "m"}
	for name, step := range map[string]func() error{
		"claim": func() error {
			_, err := s.Claim(t.Context(), key, dedupe.Request{Token: "t", Lease: time.Minute})
			return err
		},
		"complete": func() error {
			_, err := s.Complete(t.Context(), key, "t", nil)
			return err
		},
		"release": func() error { return s.Release(t.Context(), key, "t") },
	} {
		_, err = pool.Exec(t.Context(), "SET default_transaction_read_only = on")
		require.NoError(t, err)
		require.ErrorContains(t, step(), "read-only transaction", name)
		require.NoError(t, step(), name)
	}
}
