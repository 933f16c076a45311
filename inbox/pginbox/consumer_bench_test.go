package pginbox

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/pgmigrate"
)

var benchNames = pgmigrate.Names{Schema: "leat", Table: "inbox"}

// BenchmarkKeys finds what is claimed for an id: its stored form and its lock.
func BenchmarkKeys(b *testing.B) {
	k, err := newConsumer(nil, benchNames, "billing")
	require.NoError(b, err)
	for name, id := range map[string]string{"uuid": "0190163d-8694-739b-aea5-966c26f8ad91", "text": "order-4711/placed"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if stored := pgclaim.StoredID(id); k.Lock(stored) == 0 || timed(stored) != (name == "uuid") {
					b.Fatal(stored)
				}
			}
		})
	}
}

// BenchmarkBatchAnswer reads the answer to the claim of a hundred ids.
func BenchmarkBatchAnswer(b *testing.B) {
	const size = 100
	b.ReportAllocs()
	for b.Loop() {
		if statuses, claimed := (batchAnswer{seen: []int64{1}}).statuses(size); claimed != size-1 {
			b.Fatal(statuses)
		}
	}
}
