package failpoint_test

import (
	"testing"

	"github.com/leat-go/leat/internal/failpoint"
)

// BenchmarkInject passes a failure point: nothing in the builds that users make, and
// a look into a map in those that tests make.
func BenchmarkInject(b *testing.B) {
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if err := failpoint.Inject(ctx, failpoint.RelayBetweenPages); err != nil {
			b.Fatal(err)
		}
	}
}
