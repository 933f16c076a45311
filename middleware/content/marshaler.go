package content

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox"
)

const (
	headerVersion     = "event-version"
	headerName        = "name" // of the marshalers of package cqrs
	headerContentType = "content-type"
)

// Marshaler encodes and decodes event types. It is a cqrs.CommandEventMarshaler, for buses
// and processors. It is safe for concurrent use.
type Marshaler struct {
	byType map[reflect.Type]Event
}

// NewMarshaler returns a Marshaler of events. Names and types must differ, older versions must be
// consecutive, and each must convert to the type of the next one. Errors wrap
// outbox.ErrInvalidConfig.
func NewMarshaler(events ...Event) (*Marshaler, error) {
	m := &Marshaler{byType: make(map[reflect.Type]Event, len(events))}
	names := make(map[string]bool, len(events))
	for _, e := range events {
		if err := e.validate(); err != nil {
			return nil, err
		}
		if _, taken := m.byType[base(e.typ)]; taken || names[e.name] {
			return nil, outbox.ConfigError(fmt.Sprintf("Of(%q)", e.name), e.typ, "another event has the name or the type")
		}
		names[e.name], m.byType[base(e.typ)] = true, e
	}
	return m, nil
}

// Message returns v as a message for topic and key. Enqueue sets its id.
func (m *Marshaler) Message(topic, key string, v any) (outbox.Message, error) {
	e, payload, err := m.encode(v)
	return outbox.Message{Topic: topic, Key: key, Type: e.name, Payload: payload, Headers: e.headers()}, err
}

// Marshal returns v, a value or a pointer to one, as a Watermill message with a new UUIDv7.
func (m *Marshaler) Marshal(v any) (*message.Message, error) {
	e, payload, err := m.encode(v)
	if err != nil {
		return nil, err
	}
	id, err := outbox.NewID()
	if err != nil {
		return nil, err
	}
	msg := message.NewMessage(id, payload)
	msg.Metadata = e.headers()
	msg.Metadata[outbox.HeaderEventType] = e.name
	return msg, nil
}

// headers returns the headers of every message of e. Consumers with another marshaler of package
// cqrs look for the name under "name".
func (e Event) headers() map[string]string {
	if e.codec == nil {
		return nil
	}
	return map[string]string{headerName: e.name, headerVersion: strconv.Itoa(e.version), headerContentType: e.codec.ContentType()}
}

func (m *Marshaler) encode(v any) (Event, []byte, error) {
	value := reflect.ValueOf(v)
	e, known := m.of(v)
	if !known || value.Kind() == reflect.Pointer && value.IsNil() {
		return Event{}, nil, fmt.Errorf("leat: %T is not an event of this marshaler, or nil", v)
	}
	if value.Kind() != reflect.Pointer {
		pointer := reflect.New(base(e.typ))
		pointer.Elem().Set(value)
		v = pointer.Interface()
	}
	payload, err := e.codec.Encode(v)
	if err != nil {
		return Event{}, nil, faultf(err, "encode %s, version %d", e.name, e.version)
	}
	return e, payload, nil
}

// of returns the event of the value v.
func (m *Marshaler) of(v any) (Event, bool) {
	if v == nil {
		return Event{}, false
	}
	e, known := m.byType[base(reflect.TypeOf(v))]
	return e, known
}

// Unmarshal decodes msg into v, a pointer, converted to the current version. A newer version is
// ErrFutureVersion. A version older than all known ones, another type, and an unreadable payload
// are permanent errors.
func (m *Marshaler) Unmarshal(msg *message.Message, v any) error {
	e, known := m.of(v)
	if !known || reflect.ValueOf(v).Kind() != reflect.Pointer || reflect.ValueOf(v).IsNil() {
		return fmt.Errorf("leat: %T is not a pointer to an event of this marshaler", v)
	}
	if key := msg.Metadata.Get(headerKeyName); key != "" {
		return faultf(nil, "message %.200q is sealed by key %.200q: use Content.Middleware inside the inbox", msg.UUID, key)
	}
	if name := m.NameFromMessage(msg); name != e.name {
		return inbox.Permanent(faultf(nil, "message %.200q is of type %.200q, not %q", msg.UUID, name, e.name))
	}
	version, err := strconv.Atoi(versionOf(msg.Metadata))
	switch {
	case err != nil || version < 1:
		return inbox.Permanent(faultf(nil, "message %.200q of type %s has the version %.20q", msg.UUID, e.name, versionOf(msg.Metadata)))
	case version > e.version:
		return faultf(ErrFutureVersion, "message %.200q of type %s has version %d, and %d is known", msg.UUID, e.name, version, e.version)
	case version < e.oldest():
		return inbox.Permanent(faultf(nil, "message %.200q of type %s has version %d, and %d is the oldest that is known", msg.UUID, e.name, version, e.oldest()))
	}
	if err := e.decode(version, msg.Payload, v); err != nil {
		return faultf(err, "decode message %.200q of type %s, version %d", msg.UUID, e.name, version)
	}
	return nil
}

// versionOf returns the version in headers. Without one it is the first.
func versionOf(headers map[string]string) string {
	if version := headers[headerVersion]; version != "" {
		return version
	}
	return "1"
}

// Name returns the name of the event of the value v. For other types it is the name of the Go
// type, which messages never have.
func (m *Marshaler) Name(v any) string {
	if e, known := m.of(v); known {
		return e.name
	}
	return strings.TrimLeft(fmt.Sprintf("%T", v), "*")
}

// NameFromMessage returns the header event-type, or, if there is none, "name".
func (*Marshaler) NameFromMessage(msg *message.Message) string {
	if name := msg.Metadata.Get(outbox.HeaderEventType); name != "" {
		return name
	}
	return msg.Metadata.Get(headerName)
}
