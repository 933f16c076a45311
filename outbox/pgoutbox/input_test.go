package pgoutbox_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

const maxPayload = 100

// badMessages returns changes that make a message invalid, by the name of the field at fault.
func badMessages() map[string]func(m *outbox.Message) {
	bad := map[string]func(m *outbox.Message){
		"Topic: empty":         func(m *outbox.Message) { m.Topic = "" },
		"Payload: large":       func(m *outbox.Message) { m.Payload = make([]byte, maxPayload+1) },
		"OccurredAt: year 0":   func(m *outbox.Message) { m.OccurredAt = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC) },
		"OccurredAt: too late": func(m *outbox.Message) { m.OccurredAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"Headers: empty name":  func(m *outbox.Message) { m.Headers = map[string]string{"": "v"} },
		"Headers: too large": func(m *outbox.Message) {
			m.Headers = map[string]string{"a": strings.Repeat("v", outbox.MaxHeaderBytes)}
		},
		`Headers: NUL in a name`:       func(m *outbox.Message) { m.Headers = map[string]string{"a\x00": "v"} },
		`Headers["a"]: NUL in a value`: func(m *outbox.Message) { m.Headers = map[string]string{"a": "\x00"} },
		`Headers["a"]: invalid`:        func(m *outbox.Message) { m.Headers = map[string]string{"a": "\xc3"} },
		`Headers["event-id"]: ours`:    func(m *outbox.Message) { m.Headers = map[string]string{"event-id": "v"} },
	}
	for field, f := range map[string]struct {
		limit int
		set   func(m *outbox.Message, s string)
	}{
		"ID":    {outbox.MaxIDBytes, func(m *outbox.Message, s string) { m.ID = s }},
		"Topic": {outbox.MaxTopicBytes, func(m *outbox.Message, s string) { m.Topic = s }},
		"Key":   {outbox.MaxKeyBytes, func(m *outbox.Message, s string) { m.Key = s }},
		"Type":  {outbox.MaxTypeBytes, func(m *outbox.Message, s string) { m.Type = s }},
	} {
		for what, text := range map[string]string{
			"NUL": "a\x00b", "invalid": "a\xffb", "surrogate": "a\xed\xa0\x80", "long": strings.Repeat("x", f.limit+1),
		} {
			bad[field+": "+what] = func(m *outbox.Message) { f.set(m, text) }
		}
	}
	return bad
}

// TestO1_BadInputIsRefused: every way in refuses it before the database is touched, so that the
// transaction stays usable and contains nothing of the call.
func TestO1_BadInputIsRefused(t *testing.T) {
	t.Parallel()
	for name, open := range entries() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob, db := newOutbox(t, pgoutbox.Config{MaxPayloadBytes: maxPayload})
			e := open(t, ob, db)
			for what, spoil := range badMessages() {
				msgs := keyed("k", "good", "good", "bad")
				spoil(&msgs[2])
				err := e.enqueue(t.Context(), msgs...)
				var invalid *outbox.InvalidMessageError
				require.ErrorAs(t, err, &invalid, what)
				require.ErrorIs(t, err, outbox.ErrInvalidMessage, what)
				require.Equal(t, 2, invalid.Index, what)
				field, _, _ := strings.Cut(what, ":")
				require.Equal(t, field, invalid.Field, what)
				require.NotEmpty(t, invalid.Value+invalid.Reason, what)
				require.NoError(t, e.usable(), what)
			}
			require.NoError(t, e.enqueue(t.Context(), keyed("k", "fine")...))
			require.NoError(t, e.end(true))
			require.Equal(t, 1, stored(t, db))
		})
	}
}

// TestO1_LimitsAreInclusive: messages exactly at the limits are stored and read back.
func TestO1_LimitsAreInclusive(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{MaxPayloadBytes: maxPayload})
	m := outbox.Message{
		ID:         strings.Repeat("i", outbox.MaxIDBytes),
		Topic:      strings.Repeat("t", outbox.MaxTopicBytes),
		Key:        strings.Repeat("ö", outbox.MaxKeyBytes/2),
		Type:       strings.Repeat("y", outbox.MaxTypeBytes),
		Payload:    make([]byte, maxPayload),
		Headers:    map[string]string{"h": strings.Repeat("v", outbox.MaxHeaderBytes-1)},
		OccurredAt: time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
	}
	w := begin(t, ob, db)
	require.NoError(t, ob.Enqueue(t.Context(), w.Tx, m))
	w.commit()
	got := readAll(t, acquire(t, ob, ""), 10)
	require.Len(t, got, 1)
	require.Equal(t, m, got[0].Message)
}

// TestO1_IDsMayRepeat: the outbox is a log and not a set: a message that is enqueued twice is sent twice,
// and the inbox recognizes it by its id.
func TestO1_IDsMayRepeat(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	for i := range 2 {
		w := begin(t, ob, db)
		require.NoError(t, ob.Enqueue(t.Context(), w.Tx, outbox.Message{ID: "same", Topic: "t", Payload: fmt.Append(nil, i)}))
		w.commit()
	}
	got := readAll(t, acquire(t, ob, ""), 10)
	require.Equal(t, []string{"0", "1"}, payloads(got))
	require.Equal(t, "same", got[0].ID)
	require.Equal(t, "same", got[1].ID)
}
