package rediscache

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzKey: consumer and id can be read back from the name of an entry, so that no two
// messages share one.
func FuzzKey(f *testing.F) {
	f.Add("a:b", "c")
	f.Add("", "1:a:")
	f.Add("\xff", "\x00")
	cache := &cache{cfg: Config{Prefix: "p:"}}
	f.Fuzz(func(t *testing.T, consumer, id string) {
		length, rest, ok := strings.Cut(strings.TrimPrefix(cache.key(consumer, id), "p:"), ":")
		require.True(t, ok)
		n, err := strconv.Atoi(length)
		require.NoError(t, err)
		require.Equal(t, []string{consumer, ":" + id}, []string{rest[:n], rest[n:]})
	})
}
