package middleware_test

import (
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/middleware"
)

// Messages that a real Debezium wrote are read by the tests of outbox/debezium.
func TestSpreadDebezium(t *testing.T) {
	t.Parallel()
	msg := message.NewMessage("", []byte("{}"))
	msg.Metadata = message.Metadata{
		"event-id": "1", "event-type": "", "event-time": "",
		"leat_headers": `{"lang": "fr", "event-id": "another", "leat_headers": "{}"}`,
	}
	require.NoError(t, middleware.SpreadDebezium(msg))
	require.Equal(t, "1", msg.UUID)
	require.Equal(t, message.Metadata{"event-id": "1", "lang": "fr"}, msg.Metadata)
	again := msg.Copy()
	require.NoError(t, middleware.SpreadDebezium(again))
	require.True(t, msg.Equals(again), "a second time changes nothing")
}

func TestSpreadDebezium_LeavesOthersAlone(t *testing.T) {
	t.Parallel()
	msg := message.NewMessage("uuid", []byte("{}"))
	msg.Metadata = message.Metadata{"id": "1", "lang": "fr"}
	want := msg.Copy()
	require.NoError(t, middleware.SpreadDebezium(msg))
	require.True(t, want.Equals(msg))
	require.NoError(t, middleware.SpreadDebezium(message.NewMessage("no metadata", nil)))
}

func TestDebezium_RefusesWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{", `{"a": 1}`, "[]"} {
		msg := message.NewMessage("uuid", nil)
		msg.Metadata = message.Metadata{"leat_headers": text}
		_, err := middleware.Debezium(func(*message.Message) ([]*message.Message, error) {
			t.Error("the handler was called")
			return nil, nil
		})(msg)
		require.ErrorContains(t, err, "is not a JSON object of texts")
		require.Equal(t, text, msg.Metadata["leat_headers"])
	}
}
