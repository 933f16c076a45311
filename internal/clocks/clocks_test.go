package clocks_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/clocks"
)

// TestWatch has a clock that is ahead of ours by what each look says, after some time has passed.
func TestWatch(t *testing.T) {
	t.Parallel()
	type step struct {
		after, ahead time.Duration
		doubt        string
	}
	const day = 24 * time.Hour
	for name, steps := range map[string][]step{
		"it goes evenly":       {{0, 0, ""}, {10 * time.Minute, time.Second, ""}, {day, 2 * time.Second, ""}},
		"it is slewed":         {{0, 0, ""}, {10 * time.Minute, 3 * time.Minute, ""}, {10 * time.Minute, 0, ""}},
		"it differs at once":   {{0, 30 * day, "differ by 720h0m0s"}, {time.Minute, 30 * day, "differ"}, {time.Minute, 0, ""}},
		"it jumps and is back": {{0, 0, ""}, {time.Minute, 30 * time.Minute, "jumped by 30m0s"}, {time.Minute, 0, ""}},
		"it jumps far and is back": {
			{0, 0, ""}, {time.Minute, 30 * day, "differ"}, {time.Hour, 30 * day, "differ"}, {2 * time.Hour, 0, ""},
		},
		"it jumps back": {{0, 0, ""}, {time.Minute, -30 * time.Minute, "jumped by -30m0s"}, {time.Minute, -day, "differ by 24h0m0s"}},
		"it jumps and is right": {
			{0, 30 * time.Minute, ""}, {time.Minute, 0, "jumped by -30m0s"}, {40 * time.Minute, 0, "in 20m0s"}, {20 * time.Minute, 0, ""}, {time.Minute, 0, ""},
		},
		"it jumps again": {
			{0, 30 * time.Minute, ""}, {time.Minute, 0, "jumped"}, {40 * time.Minute, -30 * time.Minute, "in 1h0m0s"}, {40 * time.Minute, -30 * time.Minute, "in 20m0s"},
		},
		"a long pause hides no jump": {{0, 0, ""}, {7 * day, -59 * time.Minute, ""}, {7 * day, 59 * time.Minute, "jumped by 1h58m0s"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var w clocks.Watch
				for i, s := range steps {
					time.Sleep(s.after)
					err := w.Look(time.Now().Add(s.ahead))
					if s.doubt == "" {
						require.NoError(t, err, "look %d", i)
						continue
					}
					require.ErrorContains(t, err, s.doubt, "look %d", i)
				}
			})
		})
	}
}

func TestCame(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct{ now, want time.Duration }{
		"it goes evenly": {time.Minute, time.Minute}, "it is ahead": {time.Hour, time.Minute}, "it is behind": {-time.Hour, -time.Hour},
	} {
		require.Equal(t, at.Add(c.want), clocks.Came(at, at.Add(c.now), time.Minute), name)
	}
	require.WithinDuration(t, time.Now(), clocks.Come(), time.Second)
}

// TestPassed: what has passed is counted from a reading of the monotonic clock.
func TestPassed(t *testing.T) {
	t.Parallel()
	require.Contains(t, clocks.Began.String(), " m=", "a time without a monotonic reading is compared by the wall clock")
	before := time.Now()
	at := clocks.Passed()
	require.LessOrEqual(t, before.Sub(clocks.Began), at)
	require.LessOrEqual(t, at, time.Since(clocks.Began))
}

func TestWatch_Limit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w clocks.Watch
		at := time.Now()
		require.Equal(t, at, w.Limit(time.Time{}, at), "one that is not set is free")
		w = clocks.Watch{}
		far := at.Add(30 * 24 * time.Hour)
		at = w.Limit(at, far)
		require.Equal(t, time.Hour, time.Until(at), "at first")
		time.Sleep(10 * time.Minute)
		next := w.Limit(at, far)
		require.Equal(t, 4*time.Hour, next.Sub(at), "24 times as fast as time")
		time.Sleep(10 * time.Minute)
		require.Equal(t, next.Add(4*time.Hour), w.Limit(at, far), "what was rounded off is not lost")
		time.Sleep(10 * time.Minute)
		require.Equal(t, next.Add(-time.Hour), w.Limit(at, next.Add(-time.Hour)), "a limit may be lower")
	})
}

func TestWatch_Younger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w clocks.Watch
		require.EqualValues(t, math.MaxInt64, w.Younger(time.Hour), "nothing is known")
		const rounds = 30 * 24 * 60 // of a minute each, with a number in each
		for n := range rounds {
			w.Number(int64(n))
			w.Number(int64(n))
			time.Sleep(time.Minute)
		}
		for _, minutes := range []int64{1, 10, 60, 24 * 60, 7 * 24 * 60} {
			above := w.Younger(time.Duration(minutes)*time.Minute + time.Second)
			require.GreaterOrEqual(t, above, rounds-minutes, "numbers above it are younger than %d minutes", minutes)
			require.LessOrEqual(t, above, rounds-minutes+minutes/5, "and it is not far from what could be known")
		}
		require.EqualValues(t, math.MaxInt64, w.Younger(time.Second), "nothing was drawn so late")
		require.Zero(t, w.Younger(365*24*time.Hour), "all that the watch has seen")
		w.Number(7)
		require.EqualValues(t, 7, w.Younger(365*24*time.Hour), "the counter was set back")
	})
}
