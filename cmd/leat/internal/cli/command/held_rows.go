package command

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"regexp"
	"time"
	"unicode/utf8"

	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// MessageRow is the JSON of a message.
type MessageRow struct {
	Seq        int64     `json:"seq,omitempty"`
	ID         string    `json:"id"`
	Topic      string    `json:"topic"`
	Key        string    `json:"key,omitempty"`
	Type       string    `json:"type,omitempty"`
	CreatedAt  time.Time `json:"created_at,omitzero"`
	OccurredAt time.Time `json:"occurred_at,omitzero"`
	NotBefore  time.Time `json:"not_before,omitzero"`

	ContentRow
}

// ContentRow is the content of a message: one of the payloads, if it was requested.
type ContentRow struct {
	Headers       map[string]string `json:"headers,omitempty"`
	Payload       *string           `json:"payload,omitempty"`
	PayloadBase64 []byte            `json:"payload_base64,omitempty"`
	// Opened is the decoded payload, if that differs from the stored one.
	Opened      *string `json:"opened,omitempty"`
	OpenedError string  `json:"opened_error,omitempty"`
}

// OpenContent decodes the payload of a message. headers, with the message's id and type, determine how.
func OpenContent(d *Deps, c *ContentRow, topic string, headers map[string]string, stored []byte) error {
	reader, err := d.Payloads("", nil)
	if err != nil {
		return err
	}
	body, err := reader.Show(topic, headers, stored)
	switch {
	case err != nil:
		c.OpenedError = err.Error()
	case !bytes.Equal(body, stored):
		text := string(body)
		c.Opened = &text
	}
	return nil
}

// MessageList returns a list of messages. first is the column that it is sorted by.
func MessageList(empty string, first show.Column[MessageRow]) show.List[MessageRow] {
	return show.List[MessageRow]{Name: "messages", Empty: empty, Columns: []show.Column[MessageRow]{
		first,
		TextColumn("ID", func(m MessageRow) string { return m.ID }),
		TextColumn("TOPIC", func(m MessageRow) string { return m.Topic }),
		TextColumn("KEY", func(m MessageRow) string { return m.Key }),
		TextColumn("TYPE", func(m MessageRow) string { return m.Type }),
		TimeColumn("ENQUEUED", func(m MessageRow) time.Time { return m.CreatedAt }),
	}}
}

// WholeRecord is the JSON of a message with its payload.
func WholeRecord(d *Deps, r outbox.Record) (MessageRow, error) {
	row := NewRecordRow(r, true)
	err := OpenContent(d, &row.ContentRow, r.Topic, outbox.ToWatermill(&r).Metadata, r.Payload)
	return row, err
}

// NewContent returns the part of a row that shows a payload and its headers.
func NewContent(headers map[string]string, payload []byte) ContentRow {
	row := ContentRow{Headers: headers}
	if utf8.Valid(payload) {
		text := string(payload)
		row.Payload = &text
	} else {
		row.PayloadBase64 = payload
	}
	return row
}

// NewMessageRow returns the row of a message of the log.
func NewMessageRow(m outbox.Message, withContent bool) MessageRow {
	row := MessageRow{
		ID: m.ID, Topic: m.Topic, Key: m.Key, Type: m.Type, OccurredAt: UTC(m.OccurredAt), NotBefore: UTC(m.NotBefore),
	}
	if withContent {
		row.ContentRow = NewContent(m.Headers, m.Payload)
	}
	return row
}

// NewRecordRow returns the row of a record.
func NewRecordRow(r outbox.Record, withContent bool) MessageRow {
	row := NewMessageRow(r.Message, withContent)
	row.Seq, row.CreatedAt = r.Seq, UTC(r.CreatedAt)
	return row
}

// Facts are the message in lines.
func (m MessageRow) Facts(d *Deps) []show.Fact {
	facts := []show.Fact{
		{Name: "id", Value: show.Plain(m.ID)},
		{Name: "topic", Value: show.Plain(m.Topic)},
		{Name: "key", Value: show.Plain(m.Key)},
		{Name: "type", Value: show.Plain(m.Type)},
		{Name: "enqueued", Value: d.Time(m.CreatedAt)},
		{Name: "occurred", Value: d.Time(m.OccurredAt)},
		{Name: "not before", Value: d.Time(m.NotBefore)},
	}
	if m.Seq != 0 {
		facts = append([]show.Fact{{Name: "seq", Value: show.Count(m.Seq)}}, facts...)
	}
	return append(facts, m.ContentRow.Facts()...)
}

// Facts are the headers and the payload, in lines.
func (c ContentRow) Facts() []show.Fact {
	var facts []show.Fact
	for _, name := range SortedKeys(c.Headers) {
		facts = append(facts, show.Fact{Name: "header", Value: show.Plain(name) + ": " + show.Plain(c.Headers[name]), Whole: true})
	}
	switch {
	case c.Opened != nil:
		return append(facts, show.Fact{Name: "payload, opened", Value: show.Plain(*c.Opened), Whole: true})
	case c.OpenedError != "":
		facts = append(facts, show.Fact{Name: "not opened", Value: show.Plain(c.OpenedError)})
	}
	if c.Payload != nil {
		facts = append(facts, show.Fact{Name: "payload", Value: show.Plain(*c.Payload), Whole: true})
	}
	if c.PayloadBase64 != nil {
		facts = append(facts, show.Fact{Name: "payload", Value: base64.StdEncoding.EncodeToString(c.PayloadBase64), Whole: true})
	}
	return facts
}

// HeldRow is the JSON of a record that was set aside.
type HeldRow struct {
	MessageRow

	Group     string       `json:"group"`
	State     string       `json:"state"`
	Waits     bool         `json:"waits,omitempty"`
	Attempts  int          `json:"attempts"`
	Reason    string       `json:"reason,omitempty"`
	Since     time.Time    `json:"since"`
	LastError string       `json:"last_error,omitempty"`
	Errors    []FailureRow `json:"errors,omitempty"`
}

// FailureRow is the JSON of a failed delivery, or of a failed run of a handler.
type FailureRow struct {
	At    time.Time `json:"at"`
	Kind  string    `json:"kind,omitempty"`
	Error string    `json:"error"`
}

// Fact is the failure in a line.
func (f FailureRow) Fact(d *Deps) show.Fact {
	at := d.Time(f.At)
	if f.Kind != "" {
		at += ", " + f.Kind
	}
	return show.Fact{Name: "error", Value: at + ": " + show.Plain(f.Error)}
}

// NewHeldRow returns the row of a record that is set aside.
func NewHeldRow(r admin.HeldRecord) HeldRow {
	row := HeldRow{
		MessageRow: NewRecordRow(r.Record, false), Group: r.Group, State: string(r.State), Waits: r.Waits,
		Attempts: r.Attempts, Reason: r.Reason, Since: UTC(r.Since),
	}
	row.State = cmp.Or(row.State, "dead")
	if n := len(r.Errors); n > 0 {
		row.LastError = r.Errors[n-1].Error
	}
	return row
}

// WholeHeldRow is NewHeldRow with the payload and all errors.
func WholeHeldRow(d *Deps, r admin.HeldRecord) (row HeldRow, err error) {
	row = NewHeldRow(r)
	for _, f := range r.Errors {
		row.Errors = append(row.Errors, FailureRow{UTC(f.At), f.Kind, f.Error})
	}
	row.MessageRow, err = WholeRecord(d, r.Record)
	return row, err
}

// Why is the last error, or the reason if there was none.
func (h HeldRow) Why() string {
	switch {
	case h.Waits:
		return "waits behind an earlier one of its key"
	case h.LastError != "":
		return Bare(h.LastError)
	default:
		return h.Reason
	}
}

// deliveryFailed begins the text of each outbox.DeliveryError.
var deliveryFailed = regexp.MustCompile(`^(leat: delivery failed \([a-z_]+\): )+`)

// Bare is the text of an error without the prefix of all delivery errors, for tables that show the kind in
// a column of its own.
func Bare(text string) string { return deliveryFailed.ReplaceAllString(text, "") }

// HeldList returns the list of records that are set aside.
func HeldList(empty string) show.List[HeldRow] {
	id, why := Identified("ID", func(h HeldRow) string { return h.ID }, "WHY", HeldRow.Why)
	return show.List[HeldRow]{Name: "records", Empty: empty, Columns: []show.Column[HeldRow]{
		IDColumn("SEQ", func(h HeldRow) int64 { return h.Seq }),
		id,
		TextColumn("TOPIC", func(h HeldRow) string { return h.Topic }),
		TextColumn("KEY", func(h HeldRow) string { return h.Key }),
		TextColumn("STATE", func(h HeldRow) string { return h.State }),
		CountColumn("ATTEMPTS", func(h HeldRow) int64 { return int64(h.Attempts) }),
		TimeColumn("SINCE", func(h HeldRow) time.Time { return h.Since }),
		why,
	}}
}
