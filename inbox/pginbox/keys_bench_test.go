package pginbox

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/pgmigrate"
)

var benchNames = pgmigrate.Names{Schema: "leat", Table: "inbox"}

// BenchmarkKeys finds what is claimed for an id: its stored form and its lock.
func BenchmarkKeys(b *testing.B) {
	k, err := newKeys(benchNames, "billing")
	require.NoError(b, err)
	for name, id := range map[string]string{"uuid": "0190163d-8694-739b-aea5-966c26f8ad91", "text": "order-4711/placed"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if stored := k.id(id); k.lock(stored) == 0 || timed(stored) != (name == "uuid") {
					b.Fatal(stored)
				}
			}
		})
	}
}

// BenchmarkBatchArgs finds what is claimed for a hundred ids, and reads the answer.
func BenchmarkBatchArgs(b *testing.B) {
	const size = 100
	k, err := newKeys(benchNames, "billing")
	require.NoError(b, err)
	items := make([]driver.BatchItem, size)
	for i := range items {
		items[i].ID = fmt.Sprintf("0190163d-8694-739b-aea5-%012x", i)
	}
	b.ReportAllocs()
	for b.Loop() {
		args := k.batchArgs(items)
		if statuses, claimed := (batchAnswer{seen: []int64{1}}).statuses(len(args.ids)); claimed != size-1 {
			b.Fatal(statuses)
		}
	}
}

// BenchmarkPlace finds what is claimed for a position in a partition.
func BenchmarkPlace(b *testing.B) {
	k, err := newWatermarkKeys(benchNames, "billing", map[string]bool{"orders": true})
	require.NoError(b, err)
	ctx := driver.WithPosition(b.Context(), driver.Position{
		Source: "0190163d-8694-439b-aea5-966c26f8ad91", Topic: "orders", Partition: 3, Offset: 4711, Prev: 4710, Serial: true,
	})
	b.ReportAllocs()
	for b.Loop() {
		if at, err := k.place(ctx); err != nil || at.lock == 0 {
			b.Fatal(at, err)
		}
	}
}
