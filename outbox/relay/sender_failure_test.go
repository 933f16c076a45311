package relay

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestAttempt_KeepsCharactersWhole(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a" + strings.Repeat("é", maxErrorBytes), "a\xff", "a\x00b"} {
		stored := attempt(time.Now(), errors.New(text)).Error
		require.True(t, utf8.ValidString(stored), "%q", stored)
		require.NotContains(t, stored, "\x00")
		require.LessOrEqual(t, len(stored), maxErrorBytes)
		require.Equal(t, byte('a'), stored[0])
	}
}
