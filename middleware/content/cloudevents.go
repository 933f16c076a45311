package content

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox"
)

const (
	cloudEventsType = "application/cloudevents"
	structuredType  = "application/cloudevents+json"
)

// CloudEvents turns messages into CloudEvents 1.0. The id is Message.ID, the type Message.Type,
// which is required; the version of the type is the attribute eventversion.
//
// Messages that are read may be in either mode. A message that is not a CloudEvent is left
// unchanged. Handlers find the attributes in the metadata as in binary mode, and the type, the
// version and the content type under leat's names. If events come from several sources, use
// inbox.IDFromCloudEvent in the inbox.
type CloudEvents struct {
	// Source is the attribute source, a URI reference. Required.
	Source string

	// Structured puts everything into one JSON document, which every transport can carry. Use it
	// for HTTP. Defaults to false, the binary mode: attributes are headers, and the payload is
	// unchanged.
	Structured bool

	// Prefix begins the headers of binary mode: "ce_" on Kafka, "cloudEvents_" or "cloudEvents:"
	// on AMQP, "ce-" on NATS. Headers of the message that begin with it are further attributes.
	// Defaults to "ce_".
	Prefix string

	// Subject returns the attribute subject, or "". It must not change the message. Defaults
	// to none.
	Subject func(*outbox.Message) string
}

func (c *CloudEvents) complete() { c.Prefix = cmp.Or(c.Prefix, "ce_") }

// shared returns the attributes that correspond to a header of leat's, which handlers read.
func shared() [5]struct{ attribute, header string } {
	return [...]struct{ attribute, header string }{
		{"type", outbox.HeaderEventType},
		{"datacontenttype", headerContentType},
		{"eventversion", headerVersion},
		{"contentkey", headerKeyName},
		{"contentclaim", headerClaim},
	}
}

// wrap turns m into a CloudEvent. If m is an opened CloudEvent, its attributes are those of the
// former event.
func (c *CloudEvents) wrap(m *outbox.Message, opened bool) error {
	if c == nil {
		return nil
	}
	if m.Type == "" {
		return refuse("Type", "", "must not be empty in a CloudEvent")
	}
	if m.OccurredAt.IsZero() {
		m.OccurredAt = time.Now().UTC().Truncate(time.Microsecond)
	}
	event := map[string]string{}
	for header, value := range m.Headers {
		if name, ok := strings.CutPrefix(header, c.Prefix); ok {
			delete(m.Headers, header)
			if !opened {
				event[name] = value
			}
		}
	}
	for _, s := range shared() {
		if value := m.Headers[s.header]; value != "" {
			event[s.attribute] = value
		}
	}
	event["specversion"], event["id"], event["source"], event["type"] = "1.0", m.ID, c.Source, m.Type
	event["time"] = outbox.FormatEventTime(m.OccurredAt)
	if c.Subject != nil {
		event["subject"] = c.Subject(m)
	}
	for name, value := range event {
		switch {
		case value == "":
			delete(event, name)
		case !attributeName(name):
			return refuse("Headers", c.Prefix+name, "is not the name of an attribute: a-z and 0-9")
		}
	}
	if !c.Structured {
		delete(event, "datacontenttype") // it is the content type
		for name, value := range event {
			m.Headers[c.Prefix+name] = value
		}
		return nil
	}
	m.Payload, m.Headers[headerContentType] = envelope(event, m.Payload), structuredType
	return nil
}

func attributeName(name string) bool {
	return name != "" && name != "data" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// envelope returns the document of structured mode. JSON data is included byte for byte, without
// surrounding spaces.
func envelope(event map[string]string, data []byte) []byte {
	names := make([]string, 0, len(event))
	for name := range event {
		names = append(names, name)
	}
	slices.Sort(names)
	out := make([]byte, 0, 512+len(data)*4/3)
	for _, name := range names {
		value, _ := json.Marshal(event[name]) // a string can always be marshalled
		out = fmt.Appendf(out, "%c%q:%s", separator(out), name, value)
	}
	switch {
	case len(data) == 0:
	case isJSON(event["datacontenttype"]) && event["contentkey"] == "" && json.Valid(data) && !isNull(data):
		out = append(append(out, `,"data":`...), bytes.TrimSpace(data)...)
	default:
		out = append(out, `,"data_base64":"`...)
		out = append(base64.StdEncoding.AppendEncode(out, data), '"')
	}
	return append(out, '}')
}

func separator(out []byte) byte {
	if len(out) == 0 {
		return '{'
	}
	return ','
}

func isNull(data []byte) bool { return string(bytes.TrimSpace(data)) == "null" }

// isJSON reports whether a content type is JSON. Data without a content type is JSON, too.
func isJSON(contentType string) bool {
	kind := mediaType(contentType)
	return contentType == "" || kind == "application/json" || kind == "text/json" || strings.HasSuffix(kind, "+json")
}

func mediaType(contentType string) string {
	kind, _, _ := mime.ParseMediaType(contentType)
	return kind
}

// unwrap extracts the CloudEvent from msg. The mode is found from the headers, then from the
// payload: some producers declare a document of structured mode as plain JSON.
func (c *CloudEvents) unwrap(msg *message.Message) error {
	if c == nil {
		return nil
	}
	kind := mediaType(msg.Metadata.Get(headerContentType))
	_, binary := msg.Metadata[c.Prefix+"specversion"]
	switch {
	case kind == structuredType:
		event, err := parse(msg.Payload)
		return c.take(msg, event, err)
	case strings.HasPrefix(kind, cloudEventsType):
		return inbox.Permanent(faultf(nil, "message %.200q: CloudEvents of content type %.100q are not supported", msg.UUID, kind))
	case binary:
		return c.check(msg)
	case isJSON(kind) && looksStructured(msg.Payload):
		if event, err := parse(msg.Payload); err == nil && event["specversion"] != nil {
			return c.take(msg, event, nil)
		}
	}
	return nil
}

func looksStructured(payload []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(payload, " \t\r\n"), []byte("{")) && bytes.Contains(payload, []byte(`"specversion"`))
}

// parse returns the members of a JSON document.
func parse(payload []byte) (event map[string]json.RawMessage, err error) {
	if err = json.Unmarshal(payload, &event); err == nil && event == nil {
		err = errors.New("null")
	}
	return event, err
}

// take converts structured mode to binary mode.
func (c *CloudEvents) take(msg *message.Message, event map[string]json.RawMessage, err error) error {
	var data []byte
	if err == nil {
		for _, s := range shared() { // attributes that the envelope lacks must have no value
			delete(msg.Metadata, s.header)
		}
		err = c.attributes(msg, event)
	}
	if err == nil {
		data, err = dataOf(event, msg.Metadata[c.Prefix+"datacontenttype"])
	}
	if err != nil {
		return inbox.Permanent(faultf(err, "message %.200q: the CloudEvent cannot be read", msg.UUID))
	}
	msg.Payload = data
	return c.check(msg)
}

// attributes puts the attributes of event into the metadata of msg.
func (c *CloudEvents) attributes(msg *message.Message, event map[string]json.RawMessage) error {
	for name, raw := range event {
		if name == "data" || name == "data_base64" || isNull(raw) {
			continue
		}
		value := string(raw) // a number or a boolean
		if raw[0] == '"' {
			if err := json.Unmarshal(raw, &value); err != nil {
				return err
			}
		}
		if !attributeName(name) || raw[0] == '{' || raw[0] == '[' || required(name) && raw[0] != '"' {
			return fmt.Errorf("attribute %.100q is not one", name)
		}
		msg.Metadata[c.Prefix+name] = value
	}
	return nil
}

func required(name string) bool {
	return name == "id" || name == "source" || name == "type" || name == "specversion"
}

// dataOf returns the payload of a document.
func dataOf(event map[string]json.RawMessage, contentType string) ([]byte, error) {
	data, encoded := event["data"], event["data_base64"]
	switch {
	case encoded != nil && data != nil:
		return nil, errors.New("it has data and data_base64")
	case encoded != nil:
		var payload []byte
		err := json.Unmarshal(encoded, &payload)
		return payload, err
	case data == nil || isNull(data):
		return nil, nil
	case !isJSON(contentType) && data[0] == '"':
		var text string
		err := json.Unmarshal(data, &text)
		return []byte(text), err
	default:
		return data, nil
	}
}

// check requires the mandatory attributes, and also sets leat's own headers from the attributes.
func (c *CloudEvents) check(msg *message.Message) error {
	if version := msg.Metadata[c.Prefix+"specversion"]; version != "1.0" {
		return inbox.Permanent(faultf(nil, "message %.200q: CloudEvents %.20q are not supported", msg.UUID, version))
	}
	for _, name := range []string{"id", "source", "type"} {
		if msg.Metadata[c.Prefix+name] == "" {
			return inbox.Permanent(faultf(nil, "message %.200q: the CloudEvent has no %s", msg.UUID, name))
		}
	}
	for _, s := range shared() {
		if value := msg.Metadata[c.Prefix+s.attribute]; value != "" {
			msg.Metadata[s.header] = value
		}
		if s.attribute != "type" { // the others describe how the payload was sent
			delete(msg.Metadata, c.Prefix+s.attribute)
		}
	}
	return nil
}
