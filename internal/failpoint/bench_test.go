package failpoint_test

import (
	"testing"

	"github.com/leat-go/leat/internal/failpoint"
)

// BenchmarkInject passes a failure point in a program without a hook, as users build them.
func BenchmarkInject(b *testing.B) {
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if err := failpoint.Inject(ctx, failpoint.RelayBetweenPages); err != nil {
			b.Fatal(err)
		}
	}
}
