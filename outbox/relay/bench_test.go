package relay_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// benchRecords returns n records with the keys of customers in turn, 512 bytes of
// payload and one header each.
func benchRecords(n int) []outbox.Record {
	headers := map[string]string{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
	records := make([]outbox.Record, n)
	for i := range records {
		records[i] = outbox.Record{
			Message: outbox.Message{
				ID: fmt.Sprintf("id-%d", i), Topic: "orders", Key: fmt.Sprintf("customer-%d", i%1000),
				Type: "OrderPlaced", Payload: make([]byte, 512), Headers: headers,
			},
			Seq: int64(i) + 1, CreatedAt: time.Now(),
		}
	}
	return records
}

// benchSource is a log that costs nothing to read, so that the benchmark measures the relay. Each session
// begins at the start.
type benchSource struct{ records []outbox.Record }

func (*benchSource) Check(context.Context) error { return nil }

func (s *benchSource) Acquire(context.Context, time.Duration) (driver.Session, error) {
	return &benchSession{left: s.records}, nil
}

func (*benchSource) Wakes(context.Context) <-chan struct{} { return nil }

// benchSession reads the log once.
type benchSession struct{ left []outbox.Record }

func (*benchSession) Epoch() int64 { return 1 }

func (s *benchSession) Read(_ context.Context, limit int) (driver.Page, error) {
	n := min(limit, len(s.left))
	page := driver.Page{Records: s.left[:n:n]}
	s.left = s.left[n:]
	return page, nil
}

func (*benchSession) Advance(context.Context, driver.Page, int) error { return nil }

func (*benchSession) Renew(context.Context, time.Duration) error { return nil }

func (*benchSession) Release(context.Context) error { return nil }

// benchSink acknowledges everything without allocating memory.
type benchSink struct{ results []outbox.Result }

func (s *benchSink) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	return s.results[:len(records):len(records)]
}

// benchHook observes everything that a relay does while nothing goes wrong.
type benchHook struct{ published, settled int }

func (h *benchHook) OnRelaySend(_ context.Context, e relay.SendEvent) {
	h.published += len(e.Records)
}

func (h *benchHook) OnRelayProgress(_ context.Context, e relay.ProgressEvent) { h.settled += e.Settled }

func (*benchHook) OnRelayLease(context.Context, relay.LeaseEvent) {}

func (*benchHook) OnRelayError(context.Context, relay.ErrorEvent) {}

// BenchmarkRunOnce relays a log whose source and sink cost nothing, so that only the relay's own work is
// left. An op is a run; ns/record is the time for one record.
func BenchmarkRunOnce(b *testing.B) {
	hook := &benchHook{}
	for _, bench := range []struct {
		name    string
		records int
		cfg     relay.Config
	}{
		{"records=1", 1, relay.Config{}},
		{"records=100000", 100_000, relay.Config{}},
		{"records=100000/hooks", 100_000, relay.Config{Hooks: []outbox.Hook{hook}}},
		{"records=100000/page=100", 100_000, relay.Config{PageSize: 100}},
		{"records=1000/total-order", 1000, relay.Config{
			TotalOrder: true, Policies: []relay.Policy{{Action: relay.Block}},
		}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			source := &benchSource{records: benchRecords(bench.records)}
			r, err := relay.New(source, &benchSink{results: make([]outbox.Result, bench.records)}, bench.cfg)
			require.NoError(b, err)
			hook.published, hook.settled = 0, 0
			b.ReportAllocs()
			for b.Loop() {
				if n, err := r.RunOnce(b.Context()); err != nil || n != bench.records {
					b.Fatal(n, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*bench.records), "ns/record")
			if len(bench.cfg.Hooks) > 0 {
				require.Equal(b, b.N*bench.records, hook.published)
				require.Equal(b, b.N*bench.records, hook.settled)
			}
		})
	}
}

// BenchmarkFunc calls a function for each record of a page.
func BenchmarkFunc(b *testing.B) {
	const size = 1000
	for _, lanes := range []int{1, 16} {
		b.Run(fmt.Sprintf("lanes=%d", lanes), func(b *testing.B) {
			sink, err := relay.Func(func(context.Context, outbox.Record) error { return nil }, relay.FuncConfig{Lanes: lanes})
			require.NoError(b, err)
			page := benchRecords(size)
			b.ReportAllocs()
			for b.Loop() {
				for _, result := range sink.Send(b.Context(), page) {
					if result.Err != nil {
						b.Fatal(result.Err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/record")
		})
	}
}

// BenchmarkState asks a relay for its State, as a health check does.
func BenchmarkState(b *testing.B) {
	r, err := relay.New(&benchSource{}, &benchSink{}, relay.Config{})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if r.State().Running {
			b.Fatal("it does not run")
		}
	}
}
