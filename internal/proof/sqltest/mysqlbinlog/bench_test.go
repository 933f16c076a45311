package mysqlbinlog_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/mysqlbinlog"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// BenchmarkForeign measures the time from the commit of a producer that wakes no relay until its message
// is at the sink, at ten messages a second, with polling and with a Bell.
func BenchmarkForeign(b *testing.B) {
	onServers(b, func(b *testing.B, newShop func(b *testing.B) *shop) {
		b.Helper()
		for _, with := range []bool{false, true} {
			name := "poll"
			if with {
				name = "bell"
			}
			b.Run(name, func(b *testing.B) { foreign(b, newShop(b), with) })
		}
	})
}

// between is the time between two commits, in which the wait between polls doubles six times.
const between = 100 * time.Millisecond

func foreign(b *testing.B, s *shop, with bool) {
	b.Helper()
	source, err := s.ob.Source(sqloutbox.SourceConfig{})
	require.NoError(b, err)
	arrived := make(chan time.Time, 1)
	sink, err := relay.Func(func(context.Context, outbox.Record) error {
		arrived <- time.Now()
		return nil
	}, relay.FuncConfig{})
	require.NoError(b, err)
	r, err := relay.New(source, sink, relay.Config{})
	require.NoError(b, err)
	runs(b, func(ctx context.Context) { _ = r.Run(ctx) })
	if with {
		run(b, s.ob.Wake, mysqlbinlog.Config{DSN: s.config.FormatDSN()})
	}
	s.enqueue(b, "first")
	<-arrived
	var took []time.Duration
	for b.Loop() {
		_ = wait.For(b.Context(), between)
		s.enqueue(b, strconv.Itoa(len(took)))
		committed := time.Now()
		took = append(took, max(0, (<-arrived).Sub(committed)))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}
