package pgwindow_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglease"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// TestO2_SequenceThatWentBackIsRefused: restarted numbers lie below the floor.
func TestO2_SequenceThatWentBackIsRefused(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	s := newStepper(t, db)
	put(t, db, "a", "b", "c")
	s.open()
	s.open()
	_, err := db.Pool.Exec(t.Context(), "TRUNCATE leat.outbox RESTART IDENTITY")
	require.NoError(t, err)
	put(t, db, "after")

	wrong, err := s.st.Open(t.Context(), s.conn, s.lease, s.w, s.w.SourceFloor)
	require.NoError(t, err)
	require.Empty(t, s.rows(wrong), "negative control: going on loses what comes")
	_, err = s.st.Probe(t.Context(), s.conn, s.facts.Sequence, s.w)
	require.ErrorIs(t, err, basis.ErrWentBack)
}

// TestO2_FloorsNeverGoBack: the table itself refuses a floor below the last.
func TestO2_FloorsNeverGoBack(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	s := newStepper(t, db)
	put(t, db, "a", "b", "c")
	s.open()
	_, err := s.st.Open(t.Context(), s.conn, s.lease, s.w, 1)
	var refused *pgconn.PgError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, pgerr.CheckViolation, refused.Code)
}

func TestO2_SequenceCacheIsRefused(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	s := newStepper(t, db)
	_, err := db.Pool.Exec(t.Context(), "ALTER SEQUENCE leat.outbox_seq_seq CACHE 20")
	require.NoError(t, err)
	_, err = s.st.Facts(t.Context(), s.conn)
	require.ErrorIs(t, err, pgwindow.ErrSequenceCache)
	require.ErrorContains(t, err, "CACHE 20")

	// Negative control: a session keeps numbers back and inverts a key.
	keeps, other := db.Connect(t), db.Connect(t)
	var drawn []int64
	for _, c := range []*pgx.Conn{keeps, other, keeps} {
		var seq int64
		require.NoError(t, c.QueryRow(t.Context(), putStatement("leat.outbox")+" RETURNING seq", "x").Scan(&seq))
		drawn = append(drawn, seq)
	}
	require.Greater(t, drawn[1], drawn[2], "what was committed last has a lower number")
}

func TestO2_OtherClusterIsRefused(t *testing.T) {
	t.Parallel()
	s := newStepper(t, newLog(t))
	require.NoError(t, s.facts.Belongs(s.w))
	moved := s.w
	moved.SystemIdentifier++
	require.ErrorIs(t, s.facts.Belongs(moved), basis.ErrOtherCluster)
}

// answer is a server that answers every query with the same row.
type answer struct{ row pgx.Row }

func (a answer) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	return pgconn.CommandTag{}, errUnexpected
}

func (a answer) QueryRow(context.Context, string, ...any) pgx.Row { return a.row }

var errUnexpected = errors.New("unexpected statement")

// scan is a row with a scan function.
type scan func(dest ...any) error

func (s scan) Scan(dest ...any) error { return s(dest...) }

func set[T any](dest any, v T) {
	if p, ok := dest.(*T); ok {
		*p = v
	}
}

func TestO2_StandbyIsRefused(t *testing.T) {
	t.Parallel()
	st, err := pgwindow.Prepare(ours())
	require.NoError(t, err)
	facts := answer{scan(func(dest ...any) error {
		set(dest[0], true)
		set(dest[3], int64(1))
		return nil
	})}
	_, err = st.Facts(t.Context(), facts)
	require.ErrorIs(t, err, pgwindow.ErrStandby)
	promotedBack := answer{scan(func(dest ...any) error {
		set(dest[2], true)
		return nil
	})}
	_, err = st.Probe(t.Context(), promotedBack, 1, pgwindow.NoWindow())
	require.ErrorIs(t, err, pgwindow.ErrStandby)
}

// TestO2_UnreadableSequenceIsRefused: to a role that may not read it, some
// versions say that a sequence has drawn nothing.
func TestO2_UnreadableSequenceIsRefused(t *testing.T) {
	t.Parallel()
	st := prepared(t)
	_, err := st.Facts(t.Context(), answer{scan(func(dest ...any) error {
		set(dest[3], int64(1))
		return nil
	})})
	require.ErrorIs(t, err, pgwindow.ErrSequencePrivilege)
	require.ErrorContains(t, err, `"leat"."outbox"`)
}

func TestErrorsOfTheServerAreReturned(t *testing.T) {
	t.Parallel()
	st, err := pgwindow.Prepare(ours())
	require.NoError(t, err)
	away := answer{scan(func(...any) error { return errUnexpected })}
	ctx := t.Context()
	_, err = st.Facts(ctx, away)
	require.ErrorIs(t, err, errUnexpected)
	_, err = st.Probe(ctx, away, 1, pgwindow.NoWindow())
	require.ErrorIs(t, err, errUnexpected)
	_, err = st.Load(ctx, away, pglease.Slot{})
	require.ErrorIs(t, err, errUnexpected)
	_, err = st.Open(ctx, away, pglease.Lease{}, pgwindow.NoWindow(), 0)
	require.ErrorIs(t, err, errUnexpected)
	require.NotErrorIs(t, err, driver.ErrLeaseLost)
	require.ErrorIs(t, st.Start(ctx, away, pglease.Lease{}, 0, 0), errUnexpected)
	require.ErrorIs(t, st.Advance(ctx, away, pglease.Lease{}, 0, 0), errUnexpected)
	require.ErrorIs(t, st.Raise(ctx, away, pglease.Lease{}, 0, 0), errUnexpected)
	leases := preparedLeases(t)
	require.ErrorIs(t, leases.Renew(ctx, away, pglease.Lease{}, ttl), errUnexpected)
	require.ErrorIs(t, leases.Release(ctx, away, pglease.Lease{}), errUnexpected)
}
