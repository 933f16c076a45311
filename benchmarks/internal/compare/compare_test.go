package compare

import (
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/benchmarks/internal/results"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOrderTakesTurns(t *testing.T) {
	t.Parallel()
	require.Equal(t, []int{0, 1, 2}, Order(0, 3))
	require.Equal(t, []int{2, 1, 0}, Order(1, 3))
}

//nolint:paralleltest // results of a process go to one directory
func TestRoundsAreRecorded(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, results.Open(dir, "ci"))
	contender := func(name string, takes time.Duration) Contender {
		return Contender{Name: name, Ops: 10, Run: func(round int) (time.Duration, error) { return takes * time.Duration(round+1), nil }}
	}
	require.NoError(t, flag.Set("test.benchtime", "1x"))
	seen := testing.Benchmark(func(b *testing.B) {
		b.Helper()
		Rounds(b, 2, "", "msg/s", contender("leat", time.Second), contender("rival", 4*time.Second))
	})
	require.NoError(t, results.Close())
	require.InDelta(t, 4, seen.Extra["x-rival"], 1e-9)
	set, err := results.Load(dir)
	require.NoError(t, err)
	require.Equal(t, []float64{10, 5}, set.Values(results.Series{Contender: "leat", Unit: "msg/s"}))
	require.Equal(t, []float64{10}, set.Values(results.Series{Contender: "leat", Unit: UnitOps}))
	require.Equal(t, []float64{2.5, 1.25}, set.Values(results.Series{Contender: "rival", Unit: "msg/s"}))
}
