package pgwindow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/internal/pglease"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

func snapshotTexts() []string {
	return []string{
		"10:20:10,14,18", "3:3:", "1:2", "a:b:c", "5000000000:5000000001:5000000000", "0:0:", "3:2:", "2:9:1", "2:9:9", "2:9:5,4",
		"2:9:5,5", "1:2:1,", ":1:2:", "18446744073709551615:18446744073709551615:", "1:18446744073709551616:", "+1:2:", "01:02:1", "1:2: 1",
	}
}

// FuzzParseSnapshot: what is accepted can be written again as it was, and what is
// refused is said in few words.
func FuzzParseSnapshot(f *testing.F) {
	for _, seed := range snapshotTexts() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := pgwindow.ParseSnapshot(text)
		if err != nil {
			require.ErrorContains(t, err, "pg_snapshot")
			require.LessOrEqual(t, len(err.Error()), 1500)
			return
		}
		require.Equal(t, text, s.Text)
		xmin, err := strconv.ParseUint(strings.SplitN(text, ":", 2)[0], 10, 64)
		require.NoError(t, err)
		require.LessOrEqual(t, xmin, s.Xmax)
		var xip []string
		for x := range s.Xip {
			require.True(t, xmin <= x && x < s.Xmax)
			xip = append(xip, fmt.Sprintf("%020d", x))
		}
		slices.Sort(xip)
		again := fmt.Sprintf("%d:%d:%s", xmin, s.Xmax, strings.Join(xip, ","))
		parsed, err := pgwindow.ParseSnapshot(again)
		require.NoError(t, err)
		require.Equal(t, s.Xip, parsed.Xip)
		require.Equal(t, s.Xmax, parsed.Xmax)
		require.False(t, s.EndedBy(parsed))
	})
}

// TestParseSnapshot_AgreesWithTheServer about everything that is accepted.
func TestParseSnapshot_AgreesWithTheServer(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	accepted := 0
	for _, text := range snapshotTexts() {
		s, err := pgwindow.ParseSnapshot(text)
		if err != nil {
			continue
		}
		accepted++
		var xmax string
		var running []string
		require.NoError(t, db.Pool.QueryRow(t.Context(),
			`SELECT pg_snapshot_xmax($1::text::pg_snapshot)::text, ARRAY(SELECT pg_snapshot_xip($1::text::pg_snapshot)::text)`, text,
		).Scan(&xmax, &running), text)
		require.Equal(t, strconv.FormatUint(s.Xmax, 10), xmax)
		require.Len(t, s.Xip, len(running), text)
	}
	require.Equal(t, 5, accepted)
}

// stored is a Querier with one row.
type stored []any

func (stored) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	return pgconn.CommandTag{}, errors.ErrUnsupported
}
func (s stored) QueryRow(context.Context, string, ...any) pgx.Row { return s }

// Scan implements pgx.Row.
func (s stored) Scan(dest ...any) error {
	for i, d := range dest {
		switch d := d.(type) {
		case *int64:
			*d, _ = s[i].(int64)
		case *string:
			*d, _ = s[i].(string)
		default:
			return fmt.Errorf("column %d: %T", i, d)
		}
	}
	return nil
}

// FuzzLoad: a row of positions is a window, or an error that says what is wrong.
func FuzzLoad(f *testing.F) {
	f.Add(int64(1), "3:3:", "10:12:10", int64(0), int64(5), int64(9), int64(3), "11", int64(7))
	f.Add(int64(1), "3:3:", "10:12:10", int64(9), int64(5), int64(-1), int64(3), "-11", int64(0))
	f.Add(int64(0), "", "x", int64(0), int64(0), int64(0), int64(0), "", int64(0))
	f.Fuzz(func(t *testing.T, no int64, prev, target string, floor, next, source, last int64, openedBy string, system int64) {
		st := prepared(t)
		w, err := st.Load(t.Context(), stored{no, prev, target, floor, next, source, last, openedBy, system}, pglease.Slot{})
		if err != nil {
			require.Regexp(t, "pg_snapshot|opened by", err.Error())
			return
		}
		require.Equal(t, []any{no, prev, target, floor, next, source, last, system},
			[]any{w.No, w.Prev.Text, w.Target.Text, w.Floor, w.NextFloor, w.SourceFloor, w.Last, w.SystemIdentifier})
		opened, err := strconv.ParseUint(openedBy, 10, 64)
		require.NoError(t, err)
		require.Equal(t, opened, w.OpenedBy)
		require.Equal(t, prev == target, w.Empty())
		if w.HasEarly() {
			require.Positive(t, w.Floor)
			require.NotEmpty(t, w.Prev.Xip)
		}
		facts := pgwindow.Facts{SystemIdentifier: system}
		require.NoError(t, facts.Belongs(w))
		facts.SystemIdentifier++
		require.ErrorIs(t, facts.Belongs(w), basis.ErrOtherCluster)
	})
}
