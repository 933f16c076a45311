package page_test

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/benchmarks/internal/page"
	"github.com/leat-go/leat/benchmarks/internal/results"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The samples in testdata have the names of a real run, and values that are made up.
const saved = "testdata"

var update = flag.Bool("update", false, "write the page that is expected")

// The pages.
const (
	forUsers = "benchmarks.md"
	figures  = "internals/measurements.md"
)

func TestThePagesAreThoseThatAreExpected(t *testing.T) {
	t.Parallel()
	for _, name := range []string{forUsers, figures} {
		t.Run(name, func(t *testing.T) { t.Parallel(); expected(t, name) })
	}
}

func expected(t *testing.T, name string) {
	t.Helper()
	r, err := page.Load(saved)
	require.NoError(t, err)
	got, missing, err := page.Render(r, name)
	require.NoError(t, err)
	require.Empty(t, missing, "the page asks for what no benchmark measures")
	golden := filepath.Join(saved, filepath.Base(name))
	if *update {
		require.NoError(t, os.WriteFile(golden, got, 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	lines, expected := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(lines), len(expected)) {
		require.Equal(t, expected[i], lines[i], "line %d; go test ./internal/page -update writes it again", i+1)
	}
	require.Len(t, lines, len(expected))
}

func TestThePageOfARunThatHasNothing(t *testing.T) {
	t.Parallel()
	for name, lacks := range map[string]string{forUsers: "RelayDrain/broker=kafka leat msg/s", figures: "Memory  RSS-MiB-over-idle"} {
		text, missing, err := page.Render(page.Run{Samples: &results.Set{}, Environment: results.Environment{Scale: "ci"}}, name)
		require.NoError(t, err)
		require.Contains(t, missing, lacks)
		require.Contains(t, string(text), "**These figures are of scale ci, too small to be quoted.**")
		require.NotContains(t, string(text), "<no value>")
		require.NotContains(t, string(text), "NaN")
	}
}

func TestThePageIsWrittenWithItsPlotsAndSamples(t *testing.T) {
	t.Parallel()
	docs, samples := t.TempDir(), t.TempDir()
	_, err := page.Write(docs, samples, saved)
	require.NoError(t, err)
	for name, texts := range map[string][]string{
		"drain.svg":      {"leat", "raw", "forwarder", "messages a second"},
		"latency.svg":    {"wake", "poll", "foreign", "99.9", "percentile"},
		"backlog.svg":    {"messages that wait", "µs"},
		"remembered.svg": {"ids that are remembered", "µs"},
		"rates.svg":      {"effect p50", "batches p99", "messages a second", "ms"},
		"held.svg":       {"leat", "forwarder", "second; a transaction is open between the two lines", "ms"},

		"held-dead-tuples.svg": {"leat", "queue", "tuples"},
	} {
		b, err := os.ReadFile(filepath.Join(docs, "benchmarks", name))
		require.NoError(t, err)
		wellFormed(t, string(b))
		for _, text := range texts {
			require.Contains(t, string(b), ">"+text+"</text>", name)
		}
		require.Contains(t, pageText(t, docs, figures), "](../benchmarks/"+name)
	}
	// The pages can be written again from the samples that were kept.
	before := pageText(t, docs, figures)
	_, err = page.Write(docs, samples, samples)
	require.NoError(t, err)
	require.Equal(t, before, pageText(t, docs, figures))
}

func pageText(t *testing.T, docs, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(docs, name))
	require.NoError(t, err)
	return string(text)
}

func wellFormed(t *testing.T, text string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}
