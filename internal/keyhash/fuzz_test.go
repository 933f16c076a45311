package keyhash_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/keyhash"
)

// FuzzShard compares with FNV-1a as it is published: rows keep their shard, whatever
// becomes of the library that computes it.
func FuzzShard(f *testing.F) {
	for _, key := range []string{"", "customer-17", "\xff\x00", "ключ"} {
		f.Add([]byte(key))
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		hash := uint32(2166136261)
		for _, b := range key {
			hash = (hash ^ uint32(b)) * 16777619
		}
		require.Equal(t, int16(hash%64), keyhash.Shard(key))
	})
}

// FuzzLock compares with FNV-1a of the parts with their lengths in front, and tells
// the parts apart wherever they begin and end.
func FuzzLock(f *testing.F) {
	f.Add("outbox", "leat.outbox", "customer-17", 3)
	f.Add("", "", "", 0)
	f.Add("ab", "c", "\xff\x00", 1)
	f.Fuzz(func(t *testing.T, salt, table, key string, cut int) {
		hash := uint64(14695981039346656037)
		add := func(b byte) { hash = (hash ^ uint64(b)) * 1099511628211 }
		for _, part := range []string{salt, table, key} {
			for i := range 8 {
				add(byte(uint64(len(part)) >> (8 * i)))
			}
			for _, b := range []byte(part) {
				add(b)
			}
		}
		lock := keyhash.Lock(salt, table, key)
		require.Equal(t, int64(hash), lock)
		both := table + key
		cut = min(max(cut, 0), len(both))
		require.Equal(t, cut == len(table), lock == keyhash.Lock(salt, both[:cut], both[cut:]))
		require.NotEqual(t, lock, keyhash.Lock(salt, both))
	})
}
