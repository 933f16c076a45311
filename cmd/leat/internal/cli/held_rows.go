package cli

import (
	"cmp"
	"encoding/base64"
	"regexp"
	"time"
	"unicode/utf8"

	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// messageRow is the JSON of a message.
type messageRow struct {
	Seq        int64     `json:"seq,omitempty"`
	ID         string    `json:"id"`
	Topic      string    `json:"topic"`
	Key        string    `json:"key,omitempty"`
	Type       string    `json:"type,omitempty"`
	CreatedAt  time.Time `json:"created_at,omitzero"`
	OccurredAt time.Time `json:"occurred_at,omitzero"`
	NotBefore  time.Time `json:"not_before,omitzero"`

	contentRow
}

// contentRow is what a message carries: one of the payloads, if it was asked for.
type contentRow struct {
	Headers       map[string]string `json:"headers,omitempty"`
	Payload       *string           `json:"payload,omitempty"`
	PayloadBase64 []byte            `json:"payload_base64,omitempty"`
}

func newContent(headers map[string]string, payload []byte) contentRow {
	row := contentRow{Headers: headers}
	if utf8.Valid(payload) {
		text := string(payload)
		row.Payload = &text
	} else {
		row.PayloadBase64 = payload
	}
	return row
}

func newMessageRow(m outbox.Message, withContent bool) messageRow {
	row := messageRow{
		ID: m.ID, Topic: m.Topic, Key: m.Key, Type: m.Type, OccurredAt: utc(m.OccurredAt), NotBefore: utc(m.NotBefore),
	}
	if withContent {
		row.contentRow = newContent(m.Headers, m.Payload)
	}
	return row
}

func newRecordRow(r outbox.Record, withContent bool) messageRow {
	row := newMessageRow(r.Message, withContent)
	row.Seq, row.CreatedAt = r.Seq, utc(r.CreatedAt)
	return row
}

// facts are the message in lines.
func (m messageRow) facts(d *Deps) []show.Fact {
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
	return append(facts, m.contentRow.facts()...)
}

func (c contentRow) facts() []show.Fact {
	var facts []show.Fact
	for _, name := range sortedKeys(c.Headers) {
		facts = append(facts, show.Fact{Name: "header", Value: show.Plain(name) + ": " + show.Plain(c.Headers[name])})
	}
	if c.Payload != nil {
		facts = append(facts, show.Fact{Name: "payload", Value: show.Plain(*c.Payload)})
	}
	if c.PayloadBase64 != nil {
		facts = append(facts, show.Fact{Name: "payload", Value: base64.StdEncoding.EncodeToString(c.PayloadBase64)})
	}
	return facts
}

// heldRow is the JSON of a record that was set aside.
type heldRow struct {
	messageRow

	Group     string       `json:"group"`
	State     string       `json:"state"`
	Waits     bool         `json:"waits,omitempty"`
	Attempts  int          `json:"attempts"`
	Reason    string       `json:"reason,omitempty"`
	Since     time.Time    `json:"since"`
	LastError string       `json:"last_error,omitempty"`
	Errors    []failureRow `json:"errors,omitempty"`
}

type failureRow struct {
	At    time.Time `json:"at"`
	Kind  string    `json:"kind"`
	Error string    `json:"error"`
}

func newHeldRow(r admin.HeldRecord, whole bool) heldRow {
	row := heldRow{
		messageRow: newRecordRow(r.Record, whole), Group: r.Group, State: string(r.State), Waits: r.Waits,
		Attempts: r.Attempts, Reason: r.Reason, Since: utc(r.Since),
	}
	row.State = cmp.Or(row.State, "dead")
	if n := len(r.Errors); n > 0 {
		row.LastError = r.Errors[n-1].Error
	}
	if whole {
		for _, f := range r.Errors {
			row.Errors = append(row.Errors, failureRow{utc(f.At), f.Kind, f.Error})
		}
	}
	return row
}

// why is the last error, or the reason if there was none.
func (h heldRow) why() string {
	switch {
	case h.Waits:
		return "waits behind an earlier one of its key"
	case h.LastError != "":
		return bare(h.LastError)
	default:
		return h.Reason
	}
}

// deliveryFailed begins the text of each outbox.DeliveryError.
var deliveryFailed = regexp.MustCompile(`^(leat: delivery failed \([a-z_]+\): )+`)

// bare is the text of an error without what all of them begin with, for tables: there the
// kind has a column of its own.
func bare(text string) string { return deliveryFailed.ReplaceAllString(text, "") }

func heldList(empty string) show.List[heldRow] {
	return show.List[heldRow]{Name: "records", Empty: empty, Columns: []show.Column[heldRow]{
		idColumn("SEQ", func(h heldRow) int64 { return h.Seq }),
		textColumn("ID", func(h heldRow) string { return h.ID }),
		textColumn("TOPIC", func(h heldRow) string { return h.Topic }),
		textColumn("KEY", func(h heldRow) string { return h.Key }),
		textColumn("STATE", func(h heldRow) string { return h.State }),
		countColumn("ATTEMPTS", func(h heldRow) int64 { return int64(h.Attempts) }),
		timeColumn("SINCE", func(h heldRow) time.Time { return h.Since }),
		textColumn("WHY", heldRow.why),
	}}
}
