package outbox

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds on a message, in bytes. They keep a record inside what every broker
// that leat speaks to can carry.
// See design 3.5.
const (
	// MaxIDBytes bounds Message.ID.
	MaxIDBytes = 512
	// MaxTopicBytes bounds Message.Topic. Kafka's own bound is 249.
	MaxTopicBytes = 255
	// MaxKeyBytes bounds Message.Key.
	MaxKeyBytes = 4096
	// MaxTypeBytes bounds Message.Type.
	MaxTypeBytes = 512
	// MaxHeaderBytes bounds the names and values of all headers together.
	MaxHeaderBytes = 64 << 10
	// DefaultMaxPayloadBytes bounds Message.Payload unless a configuration says
	// otherwise. It leaves room for headers under Kafka's default
	// max.message.bytes of 1,048,588.
	DefaultMaxPayloadBytes = 960 << 10
)

func check(m *Message, maxPayload int) *InvalidMessageError {
	switch {
	case m.Topic == "":
		return refuse("Topic", m.Topic, "must not be empty")
	case m.ID == "":
		return refuse("ID", m.ID, "must not be empty")
	case len(m.Payload) > maxPayload:
		return &InvalidMessageError{
			Field: "Payload", Value: strconv.Itoa(len(m.Payload)) + " bytes",
			Reason: fmt.Sprintf("is larger than %d bytes", maxPayload),
		}
	case outsideCalendar(m.OccurredAt):
		return refuse("OccurredAt", m.OccurredAt.Format(time.RFC3339), "must lie in the years 1 to 9999, in UTC")
	case outsideCalendar(m.NotBefore):
		return refuse("NotBefore", m.NotBefore.Format(time.RFC3339), "must lie in the years 1 to 9999, in UTC")
	}
	for _, f := range [...]struct {
		name, value string
		limit       int
	}{
		{"ID", m.ID, MaxIDBytes},
		{"Topic", m.Topic, MaxTopicBytes},
		{"Key", m.Key, MaxKeyBytes},
		{"Type", m.Type, MaxTypeBytes},
	} {
		if reason := badText(f.value, f.limit); reason != "" {
			return refuse(f.name, f.value, reason)
		}
	}
	return checkHeaders(m.Headers)
}

// outsideCalendar reports whether t cannot be written as RFC 3339 in UTC.
func outsideCalendar(t time.Time) bool {
	year := t.UTC().Year()
	return !t.IsZero() && (year < 1 || year > 9999)
}

func checkHeaders(headers map[string]string) *InvalidMessageError {
	total := 0
	for name, value := range headers {
		total += len(name) + len(value)
		switch {
		case name == "":
			return refuse("Headers", name, "has an empty name")
		case ReservedHeader(name):
			return refuse(headerField(name), value, "is set by leat itself")
		}
		if reason := badText(name, MaxHeaderBytes); reason != "" {
			return refuse("Headers", name, "has a name that "+reason)
		}
		if reason := badText(value, MaxHeaderBytes); reason != "" {
			return refuse(headerField(name), value, reason)
		}
	}
	if total > MaxHeaderBytes {
		return &InvalidMessageError{
			Field: "Headers", Value: strconv.Itoa(total) + " bytes",
			Reason: fmt.Sprintf("are larger than %d bytes together", MaxHeaderBytes),
		}
	}
	return nil
}

// headerField is the name that a refusal gives to the value of a header.
func headerField(name string) string {
	return "Headers[" + strconv.Quote(shorten(name)) + "]"
}

// badText returns why s cannot be stored as text, or "". PostgreSQL's text and jsonb hold neither NUL nor
// invalid UTF-8.
func badText(s string, limit int) string {
	switch {
	case len(s) > limit:
		return fmt.Sprintf("is longer than %d bytes", limit)
	case !utf8.ValidString(s):
		return "is not valid UTF-8"
	case strings.IndexByte(s, 0) >= 0:
		return "contains a NUL byte"
	default:
		return ""
	}
}

func refuse(field, value, reason string) *InvalidMessageError {
	return &InvalidMessageError{Field: field, Value: strconv.Quote(shorten(value)), Reason: reason}
}

func shorten(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
