package onehandler_test

import (
	"testing"

	"github.com/leat-go/leat/internal/onehandler"
)

func BenchmarkCheck(b *testing.B) {
	b.ReportAllocs()
	var g onehandler.Guard
	for b.Loop() {
		if err := g.Check("points"); err != nil {
			b.Fatal(err)
		}
	}
}
