//go:build unix

package promleat_test

import (
	"context"
	"fmt"
	"hash/crc32"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/middleware/metrics/promleat"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// processor returns the processor time that this process has used.
func processor(tb testing.TB) time.Duration {
	tb.Helper()
	var used syscall.Rusage
	require.NoError(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// log is a log in memory that costs nothing to read, so that what is measured is the relay
// and its hooks. Each session begins anew.
type log struct{ records []outbox.Record }

// newLog returns n records of ten topics, a page of each, and of a thousand keys, with 512
// bytes of payload.
func newLog(n int) *log {
	records := make([]outbox.Record, n)
	for i := range records {
		records[i] = outbox.Record{
			Message: outbox.Message{
				ID: fmt.Sprintf("id-%d", i), Topic: fmt.Sprintf("orders-%d", i/100%10), Key: fmt.Sprintf("customer-%d", i%1000),
				Payload: make([]byte, 512),
			},
			Seq: int64(i) + 1, CreatedAt: time.Now(),
		}
	}
	return &log{records}
}

func (*log) Check(context.Context) error { return nil }

func (l *log) Acquire(context.Context, time.Duration) (driver.Session, error) {
	return &session{left: l.records}, nil
}

func (*log) Wakes(context.Context) <-chan struct{} { return nil }

// session reads the log once.
type session struct{ left []outbox.Record }

func (*session) Epoch() int64 { return 1 }

func (s *session) Read(_ context.Context, limit int) (driver.Page, error) {
	n := min(limit, len(s.left))
	page := driver.Page{Records: s.left[:n:n]}
	s.left = s.left[n:]
	return page, nil
}

func (*session) Advance(context.Context, driver.Page, int) error { return nil }

func (*session) Renew(context.Context, time.Duration) error { return nil }

func (*session) Release(context.Context) error { return nil }

// fast acknowledges everything. If work is set, it first does what the cheapest of real
// sinks has to do: it writes each record into a buffer, with a checksum.
type fast struct {
	results []outbox.Result
	work    bool
	buffer  []byte
	sum     uint32
}

func (s *fast) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	for i := range records {
		if !s.work {
			break
		}
		r := &records[i]
		from := len(s.buffer)
		s.buffer = append(append(append(append(s.buffer, r.Topic...), r.Key...), r.ID...), r.Payload...)
		s.sum ^= crc32.Checksum(s.buffer[from:], castagnoli)
		if len(s.buffer) > 1<<20 {
			s.buffer = s.buffer[:0]
		}
	}
	return s.results[:len(records):len(records)]
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// drain relays the log, and returns the processor time of it.
func drain(b *testing.B, l *log, work bool, hooks ...outbox.Hook) time.Duration {
	b.Helper()
	sink := &fast{results: make([]outbox.Result, len(l.records)), work: work}
	r, err := relay.New(l, sink, relay.Config{Hooks: hooks})
	require.NoError(b, err)
	began := processor(b)
	n, err := r.RunOnce(b.Context())
	used := processor(b) - began
	require.NoError(b, err)
	require.Equal(b, len(l.records), n)
	return used
}

// BenchmarkDrain drains a log that costs nothing to read with and without all hooks of a
// relay, in turns: into a sink that costs nothing, and into one that writes records to
// memory. "kept" is the speed that is left with hooks, by processor time. A server at
// either end costs more than all of it, so that more is kept.
func BenchmarkDrain(b *testing.B) {
	m, err := promleat.New(prometheus.NewRegistry(), metrics.Config{})
	require.NoError(b, err)
	ob, err := m.Outbox("main")
	require.NoError(b, err)
	hook, err := ob.Relay("default")
	require.NoError(b, err)
	l := newLog(100_000)
	for name, work := range map[string]bool{"sink=nothing": false, "sink=memory": true} {
		b.Run(name, func(b *testing.B) {
			drain(b, l, work, hook)
			var with, without time.Duration
			for b.Loop() {
				without += drain(b, l, work)
				with += drain(b, l, work, hook)
			}
			records := float64(b.N * len(l.records))
			b.ReportMetric(float64(without)/float64(with), "kept")
			b.ReportMetric(float64((with-without).Nanoseconds())/records, "hooks-ns/record")
			b.ReportMetric(float64(without.Nanoseconds())/records, "relay-ns/record")
		})
	}
}
