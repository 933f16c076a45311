package keyhash_test

import (
	"testing"

	"github.com/leat-go/leat/internal/keyhash"
)

const benchKey = "customer-00004711"

// BenchmarkShard finds the shard of a key.
func BenchmarkShard(b *testing.B) {
	key := []byte(benchKey)
	b.ReportAllocs()
	for b.Loop() {
		keyhash.Shard(key)
	}
}

// BenchmarkLock finds the advisory lock of a key.
func BenchmarkLock(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		keyhash.Lock("outbox", `"leat"."outbox"`, benchKey)
	}
}
