package pgheld

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// FuzzFate: what a sink says about a record is stored in a form that the database
// takes, and is read again as far as it is text.
func FuzzFate(f *testing.F) {
	f.Add("permanent", "message too large", "gave up", int64(7), int64(1_700_000_000_000_000))
	f.Add("", "a\x00b\xff", strings.Repeat("é", 1500), int64(-1), int64(0))
	f.Add("unknown", strings.Repeat("\x00", 3000), "\\u0000", int64(1)<<62, int64(-1))
	f.Fuzz(func(t *testing.T, kind, text, reason string, epoch, at int64) {
		when := time.UnixMicro(at % (1 << 55)) // within the years that JSON has
		var stored fates
		err := stored.add(&Fate{Name: Park, Attempts: []Error{{At: when, Kind: kind, Error: text, Epoch: epoch}}, Reason: reason})
		require.NoError(t, err)
		var read []Error
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

// FuzzRequest: what people ask for is refused before it reaches the database, or
// selects in exactly one way.
func FuzzRequest(f *testing.F) {
	f.Add("ops", "deployed a fix", "orders", "customer-17", "", "", "", 10)
	f.Add("", " ", "orders", "", "", "", "", 1)
	f.Add("a", "b\x00", "", "", "id", "or*", "kind", 0)
	f.Fuzz(func(t *testing.T, actor, reason, topic, key, id, pattern, kind string, limit int) {
		by, sel := By{actor, reason}, Selection{Topic: topic, Key: key, ID: id, Topics: pattern, Kind: kind, Limit: limit}
		if err := by.Check(); err != nil {
			require.ErrorIs(t, err, ErrInvalidRequest)
			require.Regexp(t, "Actor|Reason", err.Error())
		} else {
			require.NotEmpty(t, strings.TrimSpace(actor))
			require.True(t, utf8.ValidString(actor+reason))
		}
		require.NotEmpty(t, sel.String())
		if err := sel.Check(); err != nil {
			require.ErrorIs(t, err, ErrInvalidRequest)
			return
		}
		require.True(t, utf8.ValidString(topic+key+id+pattern+kind))
		require.NotContains(t, topic+key+id+pattern+kind, "\x00")
		require.Equal(t, 1, count(key != "", id != "", pattern != "" || kind != ""))
	})
}

func count(ways ...bool) (n int) {
	for _, way := range ways {
		if way {
			n++
		}
	}
	return n
}
