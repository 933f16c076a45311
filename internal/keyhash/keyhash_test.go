package keyhash_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/keyhash"
)

// TestShard pins the hash to the published vectors of 32-bit FNV-1a: rows keep
// their shard.
func TestShard(t *testing.T) {
	t.Parallel()
	for key, sum := range map[string]uint32{"": 0x811c9dc5, "a": 0xe40c292c, "foobar": 0xbf9cf968} {
		require.Equal(t, int16(sum%keyhash.Shards), keyhash.Shard([]byte(key)), key)
	}
	require.Equal(t, int16(32), keyhash.Shard([]byte("customer-17")))
}

func TestShardsAreUsed(t *testing.T) {
	t.Parallel()
	used := make(map[int16]int)
	for i := range 100 * keyhash.Shards {
		shard := keyhash.Shard([]byte("customer-" + strconv.Itoa(i)))
		require.GreaterOrEqual(t, shard, int16(0))
		require.Less(t, shard, int16(keyhash.Shards))
		used[shard]++
	}
	require.Len(t, used, keyhash.Shards)
}

// TestLock pins the locks: two versions of the library that run side by side
// must take the same.
func TestLock(t *testing.T) {
	t.Parallel()
	require.Equal(t, int64(574028180277898224), keyhash.Lock("outbox", "leat.outbox", "customer-17"))
	require.Equal(t, int64(-6284781860667377211), keyhash.Lock(""))
	require.NotEqual(t, keyhash.Lock("ab", "c"), keyhash.Lock("a", "bc"))
	require.NotEqual(t, keyhash.Lock("a"), keyhash.Lock("a", ""))
	require.NotEqual(t, keyhash.Lock("outbox", "k"), keyhash.Lock("inbox", "k"))
}
