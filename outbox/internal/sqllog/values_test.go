package sqllog

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestColumnsOfOthers: what columns of times and shards are read as, whatever they hold.
func TestColumnsOfOthers(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 28, 17, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		value any
		want  Micros
	}{
		{nil, Micros{}},
		{at.UnixMicro(), Micros{at.UnixMicro(), true, false}},
		{[]byte("12"), Micros{12, true, false}}, // as a driver has numbers
		{"2026-11-28T17:00:00Z", Micros{at.UnixMicro(), true, true}},
		{"2026-11-28T18:00:00+01:00", Micros{at.UnixMicro(), true, true}},
		{"2026-11-28 17:00:00", Micros{at.UnixMicro(), true, true}},
		{at, Micros{at.UnixMicro(), true, true}},
		{"yesterday", Micros{Odd: true}},
		{1.5, Micros{Odd: true}},
		{int64(math.MaxInt64), Micros{Odd: true}},
		{int64(math.MinInt64), Micros{Odd: true}},
	} {
		var m Micros
		require.NoError(t, m.Scan(c.value))
		require.Equal(t, c.want, m, "%v", c.value)
	}
	require.True(t, (&Micros{}).Time().IsZero())
	require.Equal(t, at, (&Micros{Micros: at.UnixMicro(), Valid: true}).Time())
	require.Equal(t, int64(firstMicro), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro())
	require.Equal(t, int64(lastMicro), time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()-1)

	for _, c := range []struct {
		value   any
		want    Shard
		message bool
	}{
		{int64(7), Shard{7, false}, true},
		{[]byte("63"), Shard{63, false}, true},
		{int64(-1), Shard{-1, false}, false},
		{int64(-2), Shard{0, true}, true},
		{int64(40_000), Shard{0, true}, true},
		{"nine", Shard{0, true}, true},
		{nil, Shard{0, true}, true},
	} {
		var s Shard
		require.NoError(t, s.Scan(c.value))
		require.Equal(t, c.want, s, "%v", c.value)
		require.Equal(t, c.message, s.IsMessage(), "%v", c.value)
	}
}
