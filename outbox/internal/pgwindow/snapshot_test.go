package pgwindow_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

func TestParseSnapshot(t *testing.T) {
	t.Parallel()
	s, err := pgwindow.ParseSnapshot("10:20:10,14,18")
	require.NoError(t, err)
	require.Equal(t, "10:20:10,14,18", s.Text)
	require.EqualValues(t, 20, s.Xmax)
	require.Equal(t, map[uint64]struct{}{10: {}, 14: {}, 18: {}}, s.Xip)

	s, err = pgwindow.ParseSnapshot("5000000000:5000000000:")
	require.NoError(t, err)
	require.Empty(t, s.Xip)

	for _, bad := range []string{"", "1", "1:2", "x:2:", "1:x:", "1:2:x", "1:2:1,", "1:2:-1", "-1:2:", "0:2:", "3:2:", "2:9:1", "2:9:9", "2:9:5,4", "2:9:5,5"} {
		_, err := pgwindow.ParseSnapshot(bad)
		require.ErrorContains(t, err, "pg_snapshot", "%q", bad)
	}
}

func TestSnapshot_EndedBy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		prev, target string
		want         bool
	}{
		{"10:10:", "12:12:", false},
		{"10:12:10", "10:20:10", false},
		{"10:12:10", "12:20:", true},
		{"10:12:10,11", "11:20:11,15", true},
		{"10:12:10,11", "10:20:10,11,15", false},
	} {
		prev, err := pgwindow.ParseSnapshot(c.prev)
		require.NoError(t, err)
		target, err := pgwindow.ParseSnapshot(c.target)
		require.NoError(t, err)
		require.Equal(t, c.want, prev.EndedBy(target), "%s → %s", c.prev, c.target)
		require.Equal(t, c.want, pgwindow.Window{Prev: prev, Target: target, Floor: 1}.HasEarly())
		require.False(t, pgwindow.Window{Prev: prev, Target: target}.HasEarly(), "nothing lies below a floor of 0")
	}
}
