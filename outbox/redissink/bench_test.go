package redissink_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/redissink"
)

// bare sends records as the sink does, by the client alone: one transaction, and the same fields.
func bare(ctx context.Context, b *testing.B, client *redis.Client, records []outbox.Record) {
	b.Helper()
	_, err := client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for i := range records {
			r := &records[i]
			metadata := fmt.Appendf(nil, "\x83event-id%s event-time%s leat_key%s", r.ID, outbox.FormatEventTime(r.EventTime()), r.Key)
			p.XAdd(ctx, &redis.XAddArgs{
				Stream: r.Topic, MaxLen: 10_000, Approx: true,
				Values: []any{outbox.HeaderWatermillUUID, r.ID, "metadata", metadata, "payload", r.Payload},
			})
		}
		return nil
	})
	require.NoError(b, err)
}

// BenchmarkSend sends pages of 500 records of 512 bytes through the sink and by the bare client, in turns on one
// server that writes each transaction to the disk before it answers. Metric x-bare is the time of the
// sink by that of the client.
func BenchmarkSend(b *testing.B) {
	if testing.Short() {
		b.Skip("needs Redis")
	}
	addr := testenv.PrivateRedis(b, onDisk()).Addr
	client := connect(b, addr)
	s := newSink(b, at(addr), redissink.Config{MaxLen: 10_000})
	page := records("t", 500, 10)
	for i := range page {
		page[i].Payload = make([]byte, 512)
	}
	var ours, theirs time.Duration
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		require.Equal(b, map[string]int{"ok": 500}, kinds(s.Send(b.Context(), page)))
		ours += time.Since(began)
		began = time.Now()
		bare(b.Context(), b, client, page)
		theirs += time.Since(began)
	}
	b.ReportMetric(float64(ours)/float64(theirs), "x-bare")
	b.ReportMetric(float64(500*b.N)/ours.Seconds(), "records/s")
}
