package promleat_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/metrics"
	"github.com/leat-go/leat/metrics/promleat"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// processor returns the processor time that this process has used.
func processor(tb testing.TB) time.Duration {
	tb.Helper()
	var used syscall.Rusage
	require.NoError(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// page returns records of ten topics and a hundred keys with 512 bytes of payload.
func page(n int) []outbox.Message {
	all := make([]outbox.Message, n)
	for i := range all {
		all[i] = outbox.Message{
			ID: fmt.Sprintf("id-%d", i), Topic: fmt.Sprintf("orders-%d", i/100%10), Key: fmt.Sprintf("customer-%d", i%100),
			Payload: make([]byte, 512),
		}
	}
	return all
}

// fast acknowledges everything.
type fast struct{ results []outbox.Result }

func (s *fast) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	return s.results[:len(records):len(records)]
}

// drain relays n records of an outbox in memory, and returns the processor time of it.
func drain(b *testing.B, messages []outbox.Message, hooks ...outbox.Hook) time.Duration {
	b.Helper()
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(b, err)
	require.NoError(b, ob.InTx(b.Context(), func(ctx context.Context, tx *memoutbox.Tx) error {
		return ob.Enqueue(ctx, tx, messages...)
	}))
	r, err := relay.New(ob.Source(memoutbox.SourceConfig{}), &fast{make([]outbox.Result, len(messages))}, relay.Config{Hooks: hooks})
	require.NoError(b, err)
	began := processor(b)
	n, err := r.RunOnce(b.Context())
	require.NoError(b, err)
	require.Equal(b, len(messages), n)
	return processor(b) - began
}

// BenchmarkDrain drains an outbox in memory with and without all hooks of a relay, in turns.
// "kept" is the speed that is left with hooks, by processor time.
func BenchmarkDrain(b *testing.B) {
	m, err := promleat.New(prometheus.NewRegistry(), metrics.Config{})
	require.NoError(b, err)
	ob, err := m.Outbox("main")
	require.NoError(b, err)
	hook, err := ob.Relay("default")
	require.NoError(b, err)
	messages := page(20_000)
	drain(b, messages, hook)
	var with, without time.Duration
	for b.Loop() {
		without += drain(b, messages)
		with += drain(b, messages, hook)
	}
	b.ReportMetric(float64(without)/float64(with), "kept")
	b.ReportMetric(float64((with-without).Nanoseconds())/float64(b.N*len(messages)), "ns/record")
	b.ReportMetric(float64(without.Nanoseconds())/float64(b.N*len(messages)), "base-ns/record")
}
