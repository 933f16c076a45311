package pgoutbox_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// BenchmarkRead reads and settles a backlog in pages of 5,000 records of 512 bytes, like a relay whose
// sink costs nothing.
func BenchmarkRead(b *testing.B) {
	if testing.Short() {
		b.Skip("needs PostgreSQL")
	}
	const pages, size = 20, 5000
	ob, _ := newOutbox(b, pgoutbox.Config{})
	msgs := make([]outbox.Message, size)
	for i := range msgs {
		msgs[i] = outbox.Message{Topic: "orders", Key: fmt.Sprintf("key-%08d", i), Payload: make([]byte, 512)}
	}
	for range pages {
		require.NoError(b, ob.InTx(b.Context(), func(ctx context.Context, tx pgx.Tx) error { return ob.Enqueue(ctx, tx, msgs...) }))
	}
	b.ReportAllocs()
	round := 0
	for b.Loop() {
		round++
		source, err := ob.Source(pgoutbox.SourceConfig{Group: fmt.Sprintf("round-%d", round), Start: driver.Start{Oldest: true}})
		require.NoError(b, err)
		session, err := source.Acquire(b.Context(), time.Minute)
		require.NoError(b, err)
		for read := 0; read < pages*size; {
			page, err := session.Read(b.Context(), size)
			require.NoError(b, err)
			require.NotEmpty(b, page.Records)
			require.NoError(b, session.Advance(b.Context(), page, len(page.Records)))
			read += len(page.Records)
		}
		require.NoError(b, session.Release(b.Context()))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*pages*size), "ns/record")
}
