package outbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
)

// TestHeaderNames pins the names: consumers in other languages read them.
func TestHeaderNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		outbox.HeaderEventID:       "event-id",
		outbox.HeaderEventType:     "event-type",
		outbox.HeaderEventTime:     "event-time",
		outbox.HeaderKey:           "leat_key",
		outbox.HeaderNotBefore:     "leat_not_before",
		outbox.HeaderWatermillUUID: "_watermill_message_uuid",
	} {
		require.Equal(t, want, name)
		require.True(t, outbox.ReservedHeader(name))
	}
	for _, name := range []string{"", "Event-Id", "traceparent", "correlation_id", "leat_key2"} {
		require.False(t, outbox.ReservedHeader(name), name)
	}
}

func TestEventTime(t *testing.T) {
	t.Parallel()
	stored := time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	occurred := stored.Add(-time.Hour)
	r := outbox.Record{CreatedAt: stored}
	require.Equal(t, stored, r.EventTime())
	r.OccurredAt = occurred
	require.Equal(t, occurred, r.EventTime())
}

func TestFormatEventTime(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 3, 1, 1, 30, 0, 123_456_000, time.FixedZone("", 2*3600))
	require.Equal(t, "2024-02-29T23:30:00.123456Z", outbox.FormatEventTime(at))
	back, err := time.Parse(time.RFC3339Nano, outbox.FormatEventTime(at))
	require.NoError(t, err)
	require.True(t, at.Equal(back))
}
