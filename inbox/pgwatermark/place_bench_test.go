package pgwatermark

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/pgmigrate"
)

// BenchmarkPlace finds what is claimed for a position in a partition.
func BenchmarkPlace(b *testing.B) {
	k, err := newKeys(pgmigrate.Names{Schema: "leat", Table: "inbox"}, "billing", map[string]bool{"orders": true})
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
