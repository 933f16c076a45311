package topics_test

import (
	"testing"

	"github.com/leat-go/leat/internal/topics"
)

// BenchmarkMatchAny compares a topic with the patterns of a policy.
func BenchmarkMatchAny(b *testing.B) {
	patterns := []string{"payments", "shipments.*", "*.audit", "orders.*.v2"}
	b.ReportAllocs()
	for b.Loop() {
		if !topics.MatchAny(patterns, "orders.placed.v2") {
			b.Fatal("the last pattern matches")
		}
	}
}
