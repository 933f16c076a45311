package wmforward

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/outbox"
)

// FuzzDecode: any row of the forwarder's table is a record: the message in it, or one
// that no sink delivers, that says why and can be set aside.
func FuzzDecode(f *testing.F) {
	for _, payload := range []string{
		`{"destination_topic":"t","uuid":"u","payload":"aGk=","metadata":{"leat_key":"k","a":"b"}}`, `{"uuid": 5}`, `"text"`, ``, `null`, `[]`,
		`{"destination_topic":"t","payload":"not base64!"}`, `{"destination_topic":"t","metadata":{"_watermill_message_uuid":"x"}}`,
		`{"destination_topic":"t\u0000","metadata":null}`, `{"destination_topic":"t","metadata":{"leat_key":"\ud800\u0000"}}`, `{"destination_topic":"\ud800"}`,
		`{"DESTINATION_TOPIC":"t","Destination_Topic":"u"}`, `{"destination_topic":"t","metadata":{"leat_escaped_headers":"x"}}`,
	} {
		f.Add("row-1", []byte(payload), int64(7))
	}
	f.Add("", []byte(`{"destination_topic":"t"}`), int64(-1))
	f.Add("row\xff", []byte(`{`), int64(0))
	f.Fuzz(func(t *testing.T, uuid string, payload []byte, number int64) {
		r, err := decode(row{number: number, uuid: uuid, createdAt: time.UnixMicro(0).UTC(), payload: payload}, nil)
		require.Equal(t, number, r.Seq)
		if err != nil {
			require.Empty(t, r.Topic)
			require.Equal(t, uuid, r.ID)
			require.Equal(t, string(payload), string(r.Payload), "people see what the row holds")
			reason := r.Headers[HeaderMalformed]
			require.NotEmpty(t, reason)
			require.LessOrEqual(t, len(reason), 20_000)
			requireStorable(t, reason)
			return
		}
		require.NotEmpty(t, r.Topic)
		require.True(t, r.ID != "" || uuid == "")
		for _, field := range []struct {
			text string
			most int
		}{{r.ID, outbox.MaxIDBytes}, {r.Topic, outbox.MaxTopicBytes}, {r.Key, outbox.MaxKeyBytes}} {
			require.LessOrEqual(t, len(field.text), field.most)
			requireStorable(t, field.text)
		}
		of := r.Key
		if of == "" {
			of = r.ID
		}
		require.Equal(t, keyhash.Shard([]byte(of)), r.Shard)

		stored, err := heldRow(&r)
		require.NoError(t, err)
		if stored.Headers != nil {
			require.True(t, json.Valid([]byte(*stored.Headers)))
			requireNoNUL(t, *stored.Headers)
		}
		held := recordOf(&stored)
		if len(r.Headers) == 0 {
			r.Headers = nil
		}
		require.Equal(t, r, held)
	})
}

func requireStorable(t *testing.T, text string) {
	t.Helper()
	require.True(t, utf8.ValidString(text), "%q", text)
	require.NotContains(t, text, "\x00")
}

// requireNoNUL checks that text is JSON that jsonb takes.
func requireNoNUL(t *testing.T, text string) {
	t.Helper()
	var headers map[string]string
	require.NoError(t, json.Unmarshal([]byte(text), &headers))
	require.False(t, hasNUL(headers))
}

// FuzzHeaders: headers of any kind are stored, and come back as they were as far as
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
		requireNoNUL(t, *stored)
		if utf8.ValidString(strings.Join([]string{n1, v1, n2, v2}, " ")) {
			require.Equal(t, headers, headersOf(*stored))
		}
	})
}
