package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const environment = `{"scale": "SCALE", "servers": [], "modules": {}}`

// saved returns a directory of results.
func saved(t *testing.T, scale, samples string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "samples.csv"), []byte("benchmark,contender,unit,round,value\n"+samples), 0o600))
	text := bytes.Replace([]byte(environment), []byte("SCALE"), []byte(scale), 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "environment.json"), text, 0o600))
	return dir
}

const healthy = "RelayDrain/broker=kafka,leat,msg/s,0,90000\nRelayDrain/broker=kafka,forwarder,msg/s,0,3000\n"

func TestAMissedGateIsNoFailure(t *testing.T) {
	t.Parallel()
	docs, samples, dir := t.TempDir(), t.TempDir(), saved(t, "full", healthy)
	var out bytes.Buffer
	require.NoError(t, bench(t.Context(), []string{"-from", dir, "-docs", docs, "-samples", samples}, &out))
	require.Contains(t, out.String(), "gate P1 x-forwarder 30 [30, 30] goal 100 missed\n")
	require.Contains(t, out.String(), "gate P1 x-debezium - goal 4 not measured\n")
	require.Contains(t, out.String(), "rival forwarder 3000 floor 2030 ok\n")
	require.Contains(t, out.String(), "the page has a place for what was not measured: Memory")
	text, err := os.ReadFile(filepath.Join(docs, "internals/measurements.md"))
	require.NoError(t, err)
	require.Contains(t, string(text), "90,000")
	text, err = os.ReadFile(filepath.Join(docs, "benchmarks.md"))
	require.NoError(t, err)
	require.Contains(t, string(text), "**30.0**")
	for _, file := range []string{
		filepath.Join(samples, "samples.csv"), filepath.Join(samples, "environment.json"), filepath.Join(docs, "benchmarks", "drain.svg"),
	} {
		require.FileExists(t, file)
	}
}

func TestARivalThatIsTooSlowIsAFailure(t *testing.T) {
	t.Parallel()
	const slow = "RelayDrain/broker=kafka,forwarder,msg/s,0,1000\n"
	for scale, fails := range map[string]bool{"full": true, "quick": true, "ci": false} {
		var out bytes.Buffer
		err := bench(t.Context(), []string{"-from", saved(t, scale, slow)}, &out)
		require.Contains(t, out.String(), "rival forwarder 1000 floor 2030 missed\n")
		if fails {
			require.ErrorContains(t, err, "rival forwarder")
		} else {
			require.NoError(t, err)
		}
	}
}

func TestAPageOfSeveralRuns(t *testing.T) {
	t.Parallel()
	docs, samples := t.TempDir(), t.TempDir()
	require.NoError(t, bench(t.Context(), []string{"-from", saved(t, "full", healthy), "-docs", docs, "-samples", samples}, io.Discard))
	var out bytes.Buffer
	const again = "Memory,,RSS-MiB-over-idle,0,50\n"
	require.NoError(t, bench(t.Context(), []string{"-from", saved(t, "full", again), "-again", "-docs", docs, "-samples", samples}, &out))
	require.Contains(t, out.String(), "gate P1 x-forwarder 30 [30, 30] goal 100 missed\n")
	require.Contains(t, out.String(), "gate P10 RSS-MiB-over-idle 50 [50, 50] goal 64 ok\n")
	text, err := os.ReadFile(filepath.Join(docs, "internals/measurements.md"))
	require.NoError(t, err)
	require.Contains(t, string(text), "and what ran again later")
	require.Regexp(t, `\| again \| .*: Memory \|`, string(text))
}

func TestTheCommandLine(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"scale": {"-scale", "huge"}, "argument": {"RelayDrain"}, "flag": {"-fast"}, "no results": {"-from", t.TempDir()},
		"again, without a page": {"-again"}, "again, quickly": {"-again", "-docs", t.TempDir(), "-quick"},
		"again, a part": {"-again", "-docs", t.TempDir(), "-bench", "RelayDrain/broker=kfake"},
	} {
		require.Error(t, bench(t.Context(), args, &bytes.Buffer{}), name)
	}
	o, err := parse([]string{"-quick"})
	require.NoError(t, err)
	require.Equal(t, "quick", o.scale)
	require.Contains(t, o.bench, "RelayDrain")
	require.False(t, o.complete())
	for args, complete := range map[string]bool{"-count=1": true, "-bench=RelayDrain": false, "-scale=ci": false, "-from=x": true} {
		o, err := parse([]string{args})
		require.NoError(t, err)
		require.Equal(t, complete, o.complete(), args)
	}
}
