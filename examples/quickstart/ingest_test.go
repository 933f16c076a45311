package main

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// TestBench_EveryKindOfTroubleHappens sees to it that the shortest run, whatever
// its seed, has slow transactions, rolled back ones, and forks. Ids are new, of version 7.
func TestBench_EveryKindOfTroubleHappens(t *testing.T) {
	t.Parallel()
	lines, err := webhookLines()
	require.NoError(t, err)
	require.Len(t, lines, 329)
	seen := map[string]bool{}
	for seed := range uint64(100) {
		s := settings{Events: minEvents, Seed: seed}
		slow, rolledBack := 0, 0
		keys := map[string]int{}
		for i := range minEvents {
			w, err := arrive(lines, i)
			require.NoError(t, err)
			id, err := uuid.Parse(w.ID)
			require.NoError(t, err)
			require.Equal(t, uuid.Version(7), id.Version())
			require.False(t, seen[w.ID])
			seen[w.ID] = true
			switch {
			case s.slow(w):
				slow++
			case s.rollsBack(w):
				rolledBack++
			}
			keys[w.Repository]++
		}
		require.Positive(t, slow)
		require.Positive(t, rolledBack)
		require.Equal(t, 219, keys["186853002-fork-1"])
	}
}

func TestParseSabotage(t *testing.T) {
	t.Parallel()
	for _, s := range append(sabotages(), "") {
		got, err := parseSabotage(string(s), onPostgres)
		require.NoError(t, err)
		require.Equal(t, s, got)
	}
	_, err := parseSabotage("id-cursor", onSQLite)
	require.ErrorContains(t, err, "one writer")
	_, err = parseSabotage("no-such", onMySQL)
	require.ErrorContains(t, err, "no-such")
	require.ErrorContains(t, err, "id-cursor")
}

func TestThousands(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000"} {
		require.Equal(t, want, thousands(n))
	}
}
