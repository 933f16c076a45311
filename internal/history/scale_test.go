package history_test

import (
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/history"
)

// long writes a history of n events straight away, two files of processes and a dump:
// ten lines an event, as of a run that is logged by all sides.
func long(tb testing.TB, dir string, n int) {
	tb.Helper()
	var files []*history.Writer
	open := func(name string) func(history.Line) {
		w, err := history.Dump(filepath.Join(dir, name+".jsonl"))
		require.NoError(tb, err)
		files = append(files, w)
		return func(l history.Line) { require.NoError(tb, w.Write(l)) }
	}
	processes, records, rows := open("processes"), open("records"), open("rows")
	ledger := open("ledger")
	for i := range n {
		at := int64(1_700_000_000_000_000 + i*100)
		id, child := uuid.NewString(), uuid.NewString()
		key, version := strconv.Itoa(i%1000), int64(i/1000+1)
		row := history.Line{Type: history.Ledger, ID: id, Key: key, Version: version, Amount: 1}
		ledger(row)
		row.Type, row.At, row.Topic, row.Digest = history.Intent, at, orders, "sum of the content"
		processes(row)
		for j, kind := range []history.Type{history.Committed, history.Sent, history.Acked, history.Delivered, history.Effect} {
			l := history.Line{Type: kind, At: at + int64(j) + 1, ID: id}
			if kind == history.Delivered || kind == history.Effect {
				l.Consumer = loyalty
			}
			processes(l)
		}
		records(history.Line{Type: history.Record, Topic: orders, Offset: int64(i), ID: id, Key: key, Digest: "sum of the content"})
		records(history.Line{Type: history.Record, Topic: applied, Offset: int64(i), ID: child, Key: key, Cause: id})
		rows(history.Line{
			Type: history.EffectRow, ID: id, Key: key, Version: version, Amount: 1,
			Consumer: loyalty, Row: int64(i + 1), Child: child,
		})
	}
	for i, end := range []history.Line{
		{Of: history.Waiting},
		{Of: history.Record},
		{Of: history.EffectRow, Consumer: loyalty, Topic: orders},
		{Of: history.Ledger},
	} {
		require.NoError(tb, files[i].End(end))
		require.NoError(tb, files[i].Close())
	}
}

// BenchmarkCheck judges a history of so many events: -benchtime=1000000x.
func BenchmarkCheck(b *testing.B) {
	dir := b.TempDir()
	long(b, dir, b.N)
	runtime.GC()
	b.ResetTimer()
	v, err := history.Check(b.Context(), dir, history.Options{})
	b.StopTimer()
	require.NoError(b, err)
	require.Empty(b, v.Violated())
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapSys-m.HeapReleased)/float64(b.N), "heap-bytes/event")
	b.ReportMetric(float64(v.Input.Lines)/b.Elapsed().Seconds(), "lines/s")
}
