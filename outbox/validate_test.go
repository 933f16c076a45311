package outbox_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
)

func prepare(t *testing.T, msgs ...outbox.Message) error {
	t.Helper()
	_, err := outbox.Preparer{MaxPayloadBytes: 100}.Prepare(t.Context(), msgs)
	return err
}

func TestO1_BadInputIsRefused(t *testing.T) {
	t.Parallel()
	header := func(name, value string) outbox.Message {
		return outbox.Message{Topic: "t", Headers: map[string]string{name: value}}
	}
	at := func(year int) outbox.Message {
		return outbox.Message{Topic: "t", OccurredAt: time.Date(year, 5, 1, 0, 0, 0, 0, time.UTC)}
	}
	half := strings.Repeat("v", outbox.MaxHeaderBytes/2)
	for _, tt := range []struct {
		name  string
		msg   outbox.Message
		field string
		want  string // of the error's text
	}{
		{"empty topic", outbox.Message{}, "Topic", `must not be empty (value "")`},
		{"long topic", outbox.Message{Topic: strings.Repeat("t", 256)}, "Topic", "is longer than 255 bytes"},
		{"NUL in topic", outbox.Message{Topic: "a\x00b"}, "Topic", `contains a NUL byte (value "a\x00b")`},
		{"invalid topic", outbox.Message{Topic: "a\xffb"}, "Topic", `is not valid UTF-8 (value "a\xffb")`},
		{"long id", outbox.Message{Topic: "t", ID: strings.Repeat("i", 513)}, "ID", "is longer than 512 bytes"},
		{"NUL in id", outbox.Message{Topic: "t", ID: "\x00"}, "ID", `contains a NUL byte (value "\x00")`},
		{"long key", outbox.Message{Topic: "t", Key: strings.Repeat("k", 4097)}, "Key", "is longer than 4096 bytes"},
		{"invalid key", outbox.Message{Topic: "t", Key: "\xc3"}, "Key", `is not valid UTF-8 (value "\xc3")`},
		{"long type", outbox.Message{Topic: "t", Type: strings.Repeat("y", 513)}, "Type", "is longer than 512 bytes"},
		{"NUL in type", outbox.Message{Topic: "t", Type: "a\x00"}, "Type", `contains a NUL byte (value "a\x00")`},
		{"large payload", outbox.Message{Topic: "t", Payload: make([]byte, 101)}, "Payload", "is larger than 100 bytes (value 101 bytes)"},
		{"year 0", at(0), "OccurredAt", `must lie in the years 1 to 9999, in UTC (value "0000-05-01T00:00:00Z")`},
		{"year 10000", at(10_000), "OccurredAt", `(value "10000-05-01T00:00:00Z")`},
		{"delayed to the year 10000", outbox.Message{Topic: "t", NotBefore: at(10_000).OccurredAt}, "NotBefore", `(value "10000-05-01T00:00:00Z")`},
		{"nameless header", header("", "v"), "Headers", "has an empty name"},
		{"NUL in a header's name", header("a\x00", "v"), "Headers", `has a name that contains a NUL byte (value "a\x00")`},
		{"invalid header name", header("a\xff", "v"), "Headers", `has a name that is not valid UTF-8 (value "a\xff")`},
		{"NUL in a header", header("a", "v\x00"), `Headers["a"]`, `contains a NUL byte (value "v\x00")`},
		{"invalid header", header("a", "\xff"), `Headers["a"]`, `is not valid UTF-8 (value "\xff")`},
		{"long header", header("a", half+half), "Headers", "are larger than 65536 bytes together (value 65537 bytes)"},
		{"long headers", outbox.Message{Topic: "t", Headers: map[string]string{"a": half, "b": half}}, "Headers", "(value 65538 bytes)"},
		{"reserved header", header(outbox.HeaderEventID, "v"), `Headers["event-id"]`, `is set by leat itself (value "v")`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := prepare(t, outbox.Message{Topic: "good"}, tt.msg)
			require.ErrorIs(t, err, outbox.ErrInvalidMessage)
			var bad *outbox.InvalidMessageError
			require.ErrorAs(t, err, &bad)
			require.Equal(t, 1, bad.Index)
			require.Equal(t, tt.field, bad.Field)
			require.ErrorContains(t, err, "messages[1]."+tt.field)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestBoundsAreInclusive(t *testing.T) {
	t.Parallel()
	require.NoError(t, prepare(t, outbox.Message{
		ID:         strings.Repeat("i", outbox.MaxIDBytes),
		Topic:      strings.Repeat("t", outbox.MaxTopicBytes),
		Key:        strings.Repeat("k", outbox.MaxKeyBytes),
		Type:       strings.Repeat("y", outbox.MaxTypeBytes),
		Payload:    make([]byte, 100),
		Headers:    map[string]string{"h": strings.Repeat("v", outbox.MaxHeaderBytes-1)},
		OccurredAt: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
	}))
}

func TestLongValuesAreShortened(t *testing.T) {
	t.Parallel()
	err := prepare(t, outbox.Message{Topic: strings.Repeat("é", 5000)})
	require.ErrorContains(t, err, "…")
	require.Less(t, len(err.Error()), 400)
}

func TestDefaultPayloadLimit(t *testing.T) {
	t.Parallel()
	var p outbox.Preparer
	_, err := p.Prepare(t.Context(), []outbox.Message{{Topic: "t", Payload: make([]byte, outbox.DefaultMaxPayloadBytes)}})
	require.NoError(t, err)
	_, err = p.Prepare(t.Context(), []outbox.Message{{Topic: "t", Payload: make([]byte, outbox.DefaultMaxPayloadBytes+1)}})
	require.ErrorIs(t, err, outbox.ErrInvalidMessage)
}

func TestConfigError(t *testing.T) {
	t.Parallel()
	err := outbox.ConfigError("Lease", 3*time.Second, "must exceed 5s")
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.EqualError(t, err, "leat: invalid configuration: Lease = 3s: must exceed 5s")
}
