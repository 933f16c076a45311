package wmforward

import (
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
			reason := r.Headers[headerMalformed]
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
	})
}

func requireStorable(t *testing.T, text string) {
	t.Helper()
	require.True(t, utf8.ValidString(text), "%q", text)
	require.NotContains(t, text, "\x00")
}
