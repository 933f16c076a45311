package storable_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/storable"
)

func TestText(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":            "",
		"as it is, é": "as it is, é",
		"a\x00b":      "a\uFFFDb",
		"a\xff\xfeb":  "a\uFFFDb",
	} {
		require.Equal(t, want, storable.Text(given))
	}
}

func TestAtMost(t *testing.T) {
	t.Parallel()
	require.Equal(t, "abc", storable.AtMost("abc", 3))
	require.Equal(t, "ab", storable.AtMost("abc", 2))
	require.Equal(t, "a", storable.AtMost("aé", 2), "never inside a character")
	require.Equal(t, "aé", storable.AtMost("aé", 3))
	require.Equal(t, "a", storable.AtMost("a\x00", 3), "the replacement does not fit")
	require.Equal(t, "\uFFFDab", storable.AtMost(strings.Repeat("\xff", 1000)+"abc", 5), "what is replaced makes room")
	require.Empty(t, storable.AtMost("é", 0))
	require.Empty(t, storable.AtMost("é", 1))
}

// BenchmarkAtMost bounds a text of a megabyte.
func BenchmarkAtMost(b *testing.B) {
	long := strings.Repeat("é\x00", 1<<20/3)
	for b.Loop() {
		storable.AtMost(long, 2000)
	}
}

func FuzzAtMost(f *testing.F) {
	f.Add("a\x00é\xff", 3)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = min(max(limit, 0), 100)
		got := storable.AtMost(s, limit)
		require.True(t, utf8.ValidString(got))
		require.NotContains(t, got, "\x00")
		require.LessOrEqual(t, len(got), limit)
		whole := storable.Text(s)
		require.True(t, strings.HasPrefix(whole, got) || limit < len(whole), "%q of %q", got, whole)
		if len(whole) <= limit {
			require.Equal(t, whole, got)
		} else {
			require.Greater(t, len(got)+utf8.UTFMax, limit, "cuts no more than it must")
		}
	})
}
