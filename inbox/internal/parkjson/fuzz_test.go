package parkjson_test

import (
	"encoding/json"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/inbox/internal/parkjson"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// FuzzMetadata: metadata of any bytes is stored as JSON that the database takes, and
// comes back as it was.
func FuzzMetadata(f *testing.F) {
	f.Add("event-id", "e", "ключ", "<&>\u2028")
	f.Add("a\x00", "\xff", "", "\ufffd")
	f.Add("\xed\xa0\x80", "\\u0000", "a", "\x00")
	f.Fuzz(func(t *testing.T, n1, v1, n2, v2 string) {
		m := message.Metadata{n1: v1}
		m[n2] = v2
		msg := message.NewMessage("1", []byte(v1))
		if v2 == "" {
			msg.Payload = nil
		}
		msg.Metadata = m
		text, raw, err := parkjson.EncodeMetadata(msg)
		require.NoError(t, err)
		var texts map[string]string
		require.NoError(t, json.Unmarshal([]byte(text), &texts))
		for name, value := range texts {
			require.NotContains(t, name+value, "\x00")
			require.Equal(t, m[name], value)
		}
		got, null, err := parkjson.DecodeMetadata(text, raw)
		require.NoError(t, err)
		require.Equal(t, msg.Payload == nil, null)
		require.Equal(t, m, got)
	})
}

// FuzzParkedRow: what somebody has changed in a row is an error or a message.
func FuzzParkedRow(f *testing.F) {
	f.Add(`{"a":"b"}`, `[["YQ==","/w=="]]`, `[{"at":"2026-01-02T03:04:05Z","error":"e"}]`)
	f.Add(`null`, `null`, `null`)
	f.Add(`[]`, `[["YQ=="]]`, `{}`)
	f.Add(`{"a":1}`, `[["a","b","c"]]`, `[{"at":"yesterday"}]`)
	f.Fuzz(func(t *testing.T, metadata, raw, errs string) {
		m, _, err := parkjson.DecodeMetadata(metadata, &raw)
		require.Equal(t, err == nil, m != nil)
		all, err := parkjson.DecodeErrors(errs)
		if err != nil {
			return
		}
		encoded, err := parkjson.EncodeErrors(all...)
		if err != nil {
			return // a year that JSON does not have
		}
		again, err := parkjson.DecodeErrors(encoded)
		require.NoError(t, err)
		require.Len(t, again, len(all))
		for i := range all {
			require.True(t, all[i].At.Equal(again[i].At))
			require.Equal(t, all[i].Error, again[i].Error)
		}
	})
}
