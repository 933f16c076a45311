package ids_test

import (
	"testing"

	"github.com/leat-go/leat/internal/ids"
)

const canonicalID = "0190163d-8694-739b-aea5-966c26f8ad91"

// BenchmarkNew makes the id of a message that has none: a UUIDv7.
func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if id, err := ids.New(); err != nil || len(id) != 36 {
			b.Fatal(id, err)
		}
	}
}

// BenchmarkMap maps an id to its stored form, a UUIDv5 where it is not a UUID.
func BenchmarkMap(b *testing.B) {
	for _, bench := range []struct {
		name, id  string
		canonical bool
	}{
		{"canonical", canonicalID, true},
		{"text", "order-4711/placed", false},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if u, canonical := ids.Map(bench.id); canonical != bench.canonical {
					b.Fatal(u)
				}
			}
		})
	}
}

// BenchmarkChild derives the id of a message that a handler makes.
func BenchmarkChild(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if id := ids.Child(canonicalID, "billing", "invoice"); len(id) != 36 {
			b.Fatal(id)
		}
	}
}
