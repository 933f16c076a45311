package outbox_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
)

// TestWatermillRoundTrip sends a message through Watermill and enqueues what
// comes out, as a handler does that passes a message on.
func TestWatermillRoundTrip(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 3, 1, 12, 0, 0, 5000, time.UTC)
	want := outbox.Message{
		ID: "Order/17", Topic: "orders", Key: "customer-3", Type: "OrderPlaced", Payload: []byte("\x00body"),
		Headers: map[string]string{"traceparent": traceparent, "empty": ""}, OccurredAt: at,
	}
	msg := outbox.ToWatermill(&outbox.Record{Message: want, Seq: 9, CreatedAt: at.Add(time.Minute)})
	require.Equal(t, "Order/17", msg.UUID)
	require.Equal(t, message.Payload("\x00body"), msg.Payload)
	require.Equal(t, message.Metadata{
		"traceparent": traceparent, "empty": "",
		"event-id": "Order/17", "event-type": "OrderPlaced", "event-time": "2024-03-01T12:00:00.000005Z",
		"leat_key": "customer-3",
	}, msg.Metadata)

	got, err := outbox.FromWatermill("orders", msg, nil)
	require.NoError(t, err)
	want.OccurredAt = time.Time{} // the time of the event that was consumed, not of this one
	require.Equal(t, want, got)
}

func TestToWatermillPlain(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	msg := outbox.ToWatermill(&outbox.Record{Message: outbox.Message{ID: "1", Topic: "t"}, CreatedAt: at})
	require.Equal(t, message.Metadata{"event-id": "1", "event-time": "2024-03-01T12:00:00Z"}, msg.Metadata)
}

func TestFromWatermillKeyFunc(t *testing.T) {
	t.Parallel()
	msg := message.NewMessage("1", nil)
	msg.Metadata.Set("tenant", "acme")
	msg.Metadata.Set(outbox.HeaderKey, "from metadata")

	got, err := outbox.FromWatermill("t", msg, func(topic string, m *message.Message) (string, error) {
		return topic + "/" + m.Metadata.Get("tenant"), nil
	})
	require.NoError(t, err)
	require.Equal(t, "t/acme", got.Key)
	require.Equal(t, map[string]string{"tenant": "acme"}, got.Headers)

	got, err = outbox.FromWatermill("t", msg, nil)
	require.NoError(t, err)
	require.Equal(t, "from metadata", got.Key)

	failed := errors.New("no tenant")
	_, err = outbox.FromWatermill("t", msg, func(string, *message.Message) (string, error) { return "", failed })
	require.ErrorIs(t, err, failed)
	require.ErrorContains(t, err, "key of message \"1\"")
}

// TestFromWatermillDropsReserved takes metadata as a consumed message carries
// it: a new message must not pose as the old one.
func TestFromWatermillDropsReserved(t *testing.T) {
	t.Parallel()
	msg := message.NewMessage("new", nil)
	for _, name := range []string{
		outbox.HeaderEventID, outbox.HeaderEventTime, outbox.HeaderWatermillUUID, outbox.HeaderEventType, outbox.HeaderKey,
	} {
		msg.Metadata.Set(name, "old")
	}
	got, err := outbox.FromWatermill("t", msg, nil)
	require.NoError(t, err)
	require.Equal(t, outbox.Message{ID: "new", Topic: "t", Key: "old", Type: "old", Payload: got.Payload}, got)
	_, err = outbox.Preparer{}.Prepare(t.Context(), []outbox.Message{got})
	require.NoError(t, err)
}

func TestFromWatermill_Nil(t *testing.T) {
	t.Parallel()
	_, err := outbox.FromWatermill("orders", nil, nil)
	require.ErrorIs(t, err, outbox.ErrInvalidMessage)
}

func TestFromWatermill_NotBefore(t *testing.T) {
	t.Parallel()
	msg := message.NewMessage("1", nil)
	msg.Metadata.Set(outbox.HeaderNotBefore, "2030-01-02T03:04:05.678Z")
	m, err := outbox.FromWatermill("t", msg, nil)
	require.NoError(t, err)
	require.Equal(t, time.Date(2030, 1, 2, 3, 4, 5, 678e6, time.UTC), m.NotBefore)
	require.Empty(t, m.Headers)

	msg.Metadata.Set(outbox.HeaderNotBefore, "tomorrow")
	_, err = outbox.FromWatermill("t", msg, nil)
	require.ErrorIs(t, err, outbox.ErrInvalidMessage)
	require.ErrorContains(t, err, `"tomorrow"`)
}
