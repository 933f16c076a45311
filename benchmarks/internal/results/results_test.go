package results_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/benchmarks/internal/results"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

//nolint:paralleltest // results of a process go to one directory
func TestWhatIsRecordedIsRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "on demand")
	require.NoError(t, results.Open(dir, "ci"))
	results.Record(t, "leat", "msg/s", 1.5, 2)
	results.Record(t, "raw", "msg/s", 1e6)
	results.Record(t, "leat", "msg/s", 3)
	server := results.Server{Name: "PostgreSQL", Version: "15.1", Settings: map[string]string{"fsync": "on"}}
	results.Uses(t, server)
	results.Uses(t, server)
	results.Uses(t, results.Server{Name: "PostgreSQL", Version: "15.1", Settings: map[string]string{"fsync": "off"}})

	set, err := results.Load(dir) // before the end: a run may be killed
	require.NoError(t, err)
	leat := results.Series{Benchmark: t.Name(), Contender: "leat", Unit: "msg/s"}
	raw := results.Series{Benchmark: t.Name(), Contender: "raw", Unit: "msg/s"}
	require.Equal(t, []results.Series{leat, raw}, set.Series())
	require.Equal(t, []float64{1.5, 2, 3}, set.Values(leat))
	require.Equal(t, []float64{1e6}, set.Values(raw))
	e, err := results.LoadEnvironment(dir)
	require.NoError(t, err)
	require.Equal(t, "ci", e.Scale)
	require.Positive(t, e.Machine.Cores)
	require.Len(t, e.Servers, 2)
	require.Equal(t, []string{t.Name()}, e.Servers[0].Benchmarks)
	require.NotEmpty(t, e.Modules)

	require.NoError(t, results.Close())
	results.Record(t, "leat", "msg/s", 4)
	again, err := results.Load(dir)
	require.NoError(t, err)
	require.Equal(t, set, again, "closed")
}

func TestNothingIsRecordedWithoutADirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, results.Open("", "full"))
	results.Record(t, "leat", "msg/s", 1)
	results.Uses(t, results.Server{Name: "Kafka"})
	require.NoError(t, results.Close())
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Empty(t, files)
}

func TestSamplesThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	const head = "benchmark,contender,unit,round,value\n"
	for name, text := range map[string]string{
		"nothing":             "",
		"other columns":       "benchmark,contender,unit,value,round\n",
		"a round is missing":  head + "A,leat,msg/s,0,1\nA,leat,msg/s,2,1\n",
		"a round comes twice": head + "A,leat,msg/s,0,1\nA,leat,msg/s,0,2\n",
		"no number":           head + "A,leat,msg/s,0,fast\n",
		"no round":            head + "A,leat,msg/s,first,1\n",
		"too few fields":      head + "A,leat\n",
	} {
		_, err := results.Read(strings.NewReader(text))
		require.Error(t, err, name)
	}
}
