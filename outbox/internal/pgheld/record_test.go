package pgheld

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
)

// FuzzRecord: a record that was set aside is what it was before. PostgreSQL takes what
// is stored of it.
func FuzzRecord(f *testing.F) {
	f.Add(int64(1), "0190163d-8694-739b-aea5-966c26f8ad91", "t", "", "", []byte("p"), "a", "b", int64(0))
	f.Add(int64(-1), "any", "t", "k", "", []byte(nil), "", "x\x00y", int64(1))
	f.Add(int64(7), "A", "t", "k", nullPayload, []byte("p"), escapedHeaders, `{"a":"b"}`, int64(-1))
	f.Fuzz(func(t *testing.T, seq int64, id, topic, key, typ string, payload []byte, name, value string, occurred int64) {
		if !utf8.ValidString(name+" "+value) || typ == nullPayload && len(payload) == 0 {
			return
		}
		r := outbox.Record{Seq: seq, CreatedAt: time.UnixMicro(occurred % (1 << 55)).UTC()}
		r.ID, r.Topic, r.Key, r.Type, r.Payload = id, topic, key, typ, payload
		if occurred != 0 {
			r.OccurredAt = r.CreatedAt
			r.Headers = map[string]string{name: value}
		}
		stored, err := rowOf(&r)
		require.NoError(t, err)
		require.NotNil(t, stored.payload)
		if stored.headers != nil {
			var headers map[string]string
			require.NoError(t, json.Unmarshal([]byte(*stored.headers), &headers))
			require.False(t, hasNUL(headers))
		}
		if payload == nil && typ != "" {
			r.Payload = []byte{} // only a record without a type knows the difference
		}
		require.Equal(t, r, stored.record())
	})
}

// FuzzHeaders: two headers of any kind are stored, and come back as they were as far as
// they are text.
func FuzzHeaders(f *testing.F) {
	f.Add("a", "b", "c", "d")
	f.Add(escapedHeaders, "x", escapedHeaders, "x")
	f.Add(escapedHeaders, `{"a":"b"}`, escapedHeaders, `{"a":"b"}`)
	f.Add("a\x00", "x\x00y", "", "\\u0000")
	f.Fuzz(func(t *testing.T, n1, v1, n2, v2 string) {
		headers := map[string]string{n1: v1}
		headers[n2] = v2
		stored, err := storedHeaders(headers)
		require.NoError(t, err)
		var plain map[string]string
		require.NoError(t, json.Unmarshal([]byte(*stored), &plain))
		require.False(t, hasNUL(plain))
		if utf8.ValidString(strings.Join([]string{n1, v1, n2, v2}, " ")) {
			require.Equal(t, headers, headersOf(*stored))
		}
	})
}

// FuzzRow: a row is a record, whatever somebody has put into it.
func FuzzRow(f *testing.F) {
	f.Add(int64(1), "0190163d-8694-739b-aea5-966c26f8ad91", "", "t", "", "", []byte("p"), `{"a":"b"}`, uint8(0))
	f.Add(int64(-1), "", "\xff", "", "k", "y", []byte(nil), `nonsense`, uint8(15))
	f.Fuzz(func(t *testing.T, seq int64, id, idText, topic, key, typ string, payload []byte, headers string, set uint8) {
		stored := row{seq: seq, id: id, topic: topic, payload: payload}
		for i, field := range []struct {
			to   **string
			from *string
		}{{&stored.idText, &idText}, {&stored.key, &key}, {&stored.kind, &typ}, {&stored.headers, &headers}} {
			if set&(1<<i) != 0 {
				*field.to = field.from
			}
		}
		r := stored.record()
		require.Equal(t, seq, r.Seq)
		require.Equal(t, topic, r.Topic)
		if stored.idText != nil {
			require.Equal(t, idText, r.ID)
		} else {
			require.Equal(t, id, r.ID)
		}
		if stored.headers == nil {
			require.Nil(t, r.Headers)
		}
	})
}
