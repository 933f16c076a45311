package outbox_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
)

// longestError bounds what is said of a message: values of any size are shortened.
const longestError = 1000

// FuzzPrepare: what is refused is named, in few words; what is accepted can be
// stored, and is the same message again on its way through Watermill.
func FuzzPrepare(f *testing.F) {
	f.Add("", "orders", "customer-17", "Placed", []byte(`{"a":1}`), "traceparent", "00-1-2-01", int64(1_700_000_000_000_000))
	f.Add("a\x00b", "t", "\xff", "", []byte(nil), "event-id", "x", int64(0))
	f.Add(strings.Repeat("i", 513), "t", "ключ", "\x00", []byte("\x00\xff"), "", "\x00", int64(1)<<62)
	f.Add("x", strings.Repeat("é", 128), "k", "t", []byte{}, strings.Repeat("n", 70), strings.Repeat("é", 40)+"\xff", -int64(1)<<62)
	f.Fuzz(func(t *testing.T, id, topic, key, typ string, payload []byte, name, value string, occurred int64) {
		m := outbox.Message{
			ID: id, Topic: topic, Key: key, Type: typ, Payload: payload,
			Headers: map[string]string{name: value}, OccurredAt: time.UnixMicro(occurred).UTC(),
		}
		prepared, err := outbox.Preparer{}.Prepare(t.Context(), []outbox.Message{m})
		if err != nil {
			requireNamed(t, err, m)
			return
		}
		got := prepared[0]
		requireStorable(t, got)
		if id != "" {
			require.Equal(t, m, got)
		}
		again, err := outbox.Preparer{}.Prepare(t.Context(), prepared)
		require.NoError(t, err)
		require.Equal(t, prepared, again)

		back, err := outbox.FromWatermill(got.Topic, outbox.ToWatermill(&outbox.Record{Message: got}), nil)
		require.NoError(t, err)
		back.OccurredAt = got.OccurredAt // describes the message that was sent, not the new one
		require.Equal(t, got, back)
	})
}

// requireNamed checks that err says which field of m is wrong, and is short.
func requireNamed(t *testing.T, err error, m outbox.Message) {
	t.Helper()
	var invalid *outbox.InvalidMessageError
	require.ErrorAs(t, err, &invalid)
	require.ErrorIs(t, err, outbox.ErrInvalidMessage)
	require.NotEmpty(t, invalid.Reason)
	require.LessOrEqual(t, len(err.Error()), longestError)
	require.True(t, utf8.ValidString(err.Error()), "%q", err)
	field, _, _ := strings.Cut(invalid.Field, "[")
	values := map[string]bool{
		"ID": m.ID != "", "Topic": true, "Key": m.Key != "", "Type": m.Type != "",
		"Payload": len(m.Payload) > 0, "Headers": true, "OccurredAt": true,
	}
	require.True(t, values[field], "%v", err)
}

// requireStorable checks that m fits into what it is stored in.
func requireStorable(t *testing.T, m outbox.Message) {
	t.Helper()
	texts := []string{m.ID, m.Topic, m.Key, m.Type}
	for name, value := range m.Headers {
		texts = append(texts, name, value)
		require.False(t, outbox.ReservedHeader(name))
	}
	for _, text := range texts {
		require.True(t, utf8.ValidString(text), "%q", text)
		require.NotContains(t, text, "\x00")
	}
	require.NotEmpty(t, m.ID)
	require.NotEmpty(t, m.Topic)
	raw, err := json.Marshal(m.Headers)
	require.NoError(t, err)
	var headers map[string]string
	require.NoError(t, json.Unmarshal(raw, &headers))
	require.Equal(t, m.Headers, headers)
	formatted := outbox.FormatEventTime(m.OccurredAt)
	parsed, err := time.Parse(time.RFC3339Nano, formatted)
	require.NoError(t, err)
	require.True(t, parsed.Equal(m.OccurredAt), "%s read as %s", formatted, parsed)
}

// FuzzFromWatermill: metadata of any kind gives a message or an error, and only
// what leat sets itself is left behind.
func FuzzFromWatermill(f *testing.F) {
	f.Add("id", "orders", []byte("p"), outbox.HeaderNotBefore, "2030-01-02T03:04:05Z", "a", "b")
	f.Add("", "", []byte(nil), outbox.HeaderNotBefore, "tomorrow", outbox.HeaderKey, "k")
	f.Add("id", "t", []byte(nil), outbox.HeaderNotBefore, "9999-12-31T23:59:59-23:59", outbox.HeaderEventType, "T")
	f.Add("id", "t", []byte(nil), outbox.HeaderNotBefore, "0001-01-01T00:00:00+23:59", "\xff", "\x00")
	f.Fuzz(func(t *testing.T, id, topic string, payload []byte, n1, v1, n2, v2 string) {
		msg := message.NewMessage(id, payload)
		msg.Metadata[n1] = v1
		msg.Metadata[n2] = v2
		m, err := outbox.FromWatermill(topic, msg, nil)
		if err != nil {
			require.ErrorIs(t, err, outbox.ErrInvalidMessage)
			require.ErrorContains(t, err, outbox.HeaderNotBefore)
			return
		}
		require.Equal(t, []string{id, topic, msg.Metadata[outbox.HeaderKey], msg.Metadata[outbox.HeaderEventType]},
			[]string{m.ID, m.Topic, m.Key, m.Type})
		require.Equal(t, msg.Payload, message.Payload(m.Payload))
		for name, value := range msg.Metadata {
			kept, ok := m.Headers[name]
			require.Equal(t, !outbox.ReservedHeader(name), ok, name)
			require.True(t, !ok || kept == value)
		}
		_, err = outbox.Preparer{}.Prepare(t.Context(), []outbox.Message{m})
		if err != nil {
			require.ErrorIs(t, err, outbox.ErrInvalidMessage)
		}
	})
}
