package pgoutbox

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
)

// benchRowCount is the number of rows of a page.
const benchRowCount = 1000

// BenchmarkDecode decodes a page of rows, in the form the server sends them, with 512 bytes of payload
// each.
func BenchmarkDecode(b *testing.B) {
	for _, bench := range []struct {
		name string
		n    int // headers
	}{{"no-headers", 0}, {"headers=1", 1}, {"headers=3", 3}} {
		b.Run(bench.name, func(b *testing.B) {
			rows := benchRows(b, bench.n)
			bytes := 0
			for _, column := range rows[0] {
				bytes += len(column)
			}
			b.ReportAllocs()
			b.SetBytes(int64(benchRowCount * bytes))
			for b.Loop() {
				d := decoder{records: make([]outbox.Record, 0, benchRowCount)}
				for _, row := range rows {
					if err := d.binary(row); err != nil {
						b.Fatal(err)
					}
				}
				if len(d.records) != benchRowCount || len(d.records[benchRowCount-1].Headers) != bench.n {
					b.Fatal(len(d.records))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchRowCount), "ns/record")
		})
	}
}

// benchRows returns rows with the given number of headers, in the form the server sends them.
func benchRows(b *testing.B, headers int) [][][]byte {
	b.Helper()
	texts := []string{
		``, `{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}`, ``,
		`{"tenant": "acme", "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "content-type": "application/json"}`,
	}
	columns, err := columnsOf(benchMessages(benchRowCount, nil))
	require.NoError(b, err)
	rows := make([][][]byte, benchRowCount)
	for i := range rows {
		one := *columns
		one.ids, one.shards, one.keys = columns.ids[i:], columns.shards[i:], columns.keys[i:]
		one.headers = texts[headers:]
		rows[i] = asStored(&one, int64(i), time.UnixMicro(1_700_000_000_123_456).UTC())
	}
	return rows
}

// BenchmarkDecodeHeaders decodes the headers of one row.
func BenchmarkDecodeHeaders(b *testing.B) {
	for _, raw := range []string{
		`{}`,
		`{"tenant": "acme", "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "content-type": "application/json"}`,
		`{"title": "caf\u00e9", "quote": "a \"word\""}`,
	} {
		b.Run(fmt.Sprintf("bytes=%d", len(raw)), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if decodeHeaders([]byte(raw)) == nil {
					b.Fatal(raw)
				}
			}
		})
	}
}
