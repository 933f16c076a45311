package pgheld

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// FuzzFate: what a sink says about a record is stored in a form that the database
// takes, and is read again as far as it is text.
func FuzzFate(f *testing.F) {
	f.Add(2, "message too large", "gave up", int64(7), int64(1_700_000_000_000_000))
	f.Add(-1, "a\x00b\xff", strings.Repeat("é", 1500), int64(-1), int64(0))
	f.Add(0, strings.Repeat("\x00", 3000), "\\u0000", int64(1)<<62, int64(-1))
	f.Fuzz(func(t *testing.T, kind int, text, reason string, epoch, at int64) {
		when := time.UnixMicro(at % (1 << 55)) // within the years that JSON has
		stored := fates{epoch: epoch}
		attempts := []driver.Attempt{{At: when, Kind: outbox.FailureKind(kind), Error: text}}
		err := stored.add(driver.FatePark, attempts, 0, reason)
		require.NoError(t, err)
		var read []failure
		require.NoError(t, json.Unmarshal([]byte(stored.errors[0]), &read))
		require.Len(t, read, 1)
		require.True(t, read[0].At.Equal(when))
		require.Equal(t, epoch, read[0].Epoch)
		requireStored(t, text, read[0].Error)
		if reason == "" {
			require.Nil(t, stored.reasons[0])
		} else {
			requireStored(t, reason, *stored.reasons[0])
		}
	})
}

func requireStored(t *testing.T, given, stored string) {
	t.Helper()
	require.True(t, utf8.ValidString(stored))
	require.NotContains(t, stored, "\x00")
	require.LessOrEqual(t, len(stored), maxErrorBytes)
	if utf8.ValidString(given) && len(given) <= maxErrorBytes && !strings.Contains(given, "\x00") {
		require.Equal(t, given, stored)
	}
}
