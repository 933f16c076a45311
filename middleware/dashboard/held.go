package dashboard

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/outbox/admin"
)

// heldRow is a record that was set aside, without its payload.
type heldRow struct {
	recordRow

	Group    string       `json:"group"`
	State    string       `json:"state,omitempty"`
	Waits    bool         `json:"waits,omitempty"`
	Attempts int          `json:"attempts"`
	Errors   []failureRow `json:"errors"`
	Reason   string       `json:"reason"`
	Since    time.Time    `json:"since"`
}

// failureRow is a delivery that has failed.
type failureRow struct {
	At    time.Time `json:"at"`
	Kind  string    `json:"kind,omitempty"`
	Error string    `json:"error"`
	Epoch int64     `json:"epoch,omitempty"`
}

// LastError is the text of the last failure, "" for none.
func (h heldRow) LastError() string {
	if len(h.Errors) == 0 {
		return ""
	}
	return h.Errors[len(h.Errors)-1].Error
}

// LastKind is the kind of the last failure, "" for none.
func (h heldRow) LastKind() string {
	if len(h.Errors) == 0 {
		return ""
	}
	return h.Errors[len(h.Errors)-1].Kind
}

func heldOf(h admin.HeldRecord) heldRow {
	row := heldRow{
		recordRow: recordOf(h.Record), Group: h.Group, State: string(h.State), Waits: h.Waits, Attempts: h.Attempts,
		Errors: []failureRow{}, Reason: h.Reason, Since: h.Since,
	}
	for _, f := range h.Errors {
		row.Errors = append(row.Errors, failureRow(f))
	}
	return row
}

// heldQuery reads the parameters that both lists of records share.
func (c *call) heldQuery() admin.HeldQuery {
	return admin.HeldQuery{
		Group: c.q.text("group"), Topic: c.q.text("topic"), Key: c.q.text("key"), After: c.q.number("after"), Limit: c.q.limit(), OmitPayload: true,
	}
}

// parked lists held records, including retried ones if state asks for them.
func (c *call) parked() (list[heldRow], error) {
	q := c.heldQuery()
	q.State = admin.HeldState(c.q.text("state"))
	q.State = cmp.Or(q.State, admin.HeldParked)
	_, ob, err := c.outbox()
	if err != nil {
		return list[heldRow]{}, err
	}
	if err := c.q.done(); err != nil {
		return list[heldRow]{}, err
	}
	return heldList(c, q, ob.Held)
}

func (c *call) dead() (list[heldRow], error) {
	q := c.heldQuery()
	_, ob, err := c.outbox()
	if err != nil {
		return list[heldRow]{}, err
	}
	if err := c.q.done(); err != nil {
		return list[heldRow]{}, err
	}
	return heldList(c, q, ob.Dead)
}

func heldList(c *call, q admin.HeldQuery, look func(context.Context, admin.HeldQuery) ([]admin.HeldRecord, error)) (list[heldRow], error) {
	return paging[admin.HeldRecord, heldRow, int64]{
		limit: q.Limit, after: q.After, text: decimal, convert: heldOf,
		ask: func(after int64, n int) ([]admin.HeldRecord, error) {
			q.After, q.Limit = after, n
			return look(c.ctx(), q)
		},
		cursor: func(h admin.HeldRecord) int64 { return h.Seq },
	}.list(c)
}

// decimal returns a number as a parameter.
func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// keyRow is a parked key.
type keyRow struct {
	Topic     string    `json:"topic"`
	Key       string    `json:"key"`
	Seq       int64     `json:"seq"`
	ID        string    `json:"id"`
	Records   int       `json:"records"`
	Attempts  int       `json:"attempts"`
	Reason    string    `json:"reason"`
	LastError string    `json:"last_error,omitempty"`
	LastKind  string    `json:"last_kind,omitempty"`
	Since     time.Time `json:"since"`
}

func (c *call) parkedKeys() (list[keyRow], error) {
	q := admin.KeysQuery{Group: c.q.text("group"), Topic: c.q.text("topic"), After: c.q.number("after"), Limit: c.q.limit()}
	_, ob, err := c.outbox()
	if err != nil {
		return list[keyRow]{}, err
	}
	if err := c.q.done(); err != nil {
		return list[keyRow]{}, err
	}
	return paging[admin.ParkedKey, keyRow, int64]{
		limit: q.Limit, after: q.After, text: decimal,
		ask: func(after int64, n int) ([]admin.ParkedKey, error) {
			q.After, q.Limit = after, n
			return ob.ParkedKeys(c.ctx(), q)
		},
		convert: func(k admin.ParkedKey) keyRow {
			return keyRow{k.Key.Topic, k.Key.Key, k.Seq, k.ID, k.Records, k.Attempts, k.Reason, k.LastError, k.LastKind, k.Since}
		},
		cursor: func(k admin.ParkedKey) int64 { return k.Seq },
	}.list(c)
}

// failuresRow is one cause of failed records.
type failuresRow struct {
	Topic       string    `json:"topic"`
	Kind        string    `json:"kind"`
	Fingerprint string    `json:"fingerprint"`
	Example     string    `json:"example"`
	Records     int       `json:"records"`
	First       time.Time `json:"first"`
	Last        time.Time `json:"last"`
	// Again is how many of the records were redriven and failed again.
	Again int `json:"again,omitempty"`
}

func (c *call) failures() (list[failuresRow], error) {
	q := admin.FailuresQuery{Group: c.q.text("group"), Topic: c.q.text("topic"), Dead: c.q.flag("dead"), Limit: c.q.limit()}
	_, ob, err := c.outbox()
	if err != nil {
		return list[failuresRow]{}, err
	}
	if err := c.q.done(); err != nil {
		return list[failuresRow]{}, err
	}
	failures, err := ob.Failures(c.ctx(), q)
	return listOf(c, failures, q.Limit, func(f admin.FailureGroup) failuresRow { return failuresRow(f) }, nil), err
}

// delayedRow is a message that is not due yet.
type delayedRow struct {
	ID        string    `json:"id"`
	Topic     string    `json:"topic"`
	Key       string    `json:"key"`
	Type      string    `json:"type,omitempty"`
	Bytes     int       `json:"bytes"`
	No        int64     `json:"no"`
	NotBefore time.Time `json:"not_before"`
	CreatedAt time.Time `json:"created_at"`
}

func delayedOf(m admin.DelayedMessage) delayedRow {
	return delayedRow{m.ID, m.Topic, m.Key, m.Type, len(m.Payload), m.No, m.NotBefore.UTC(), m.CreatedAt.UTC()}
}

// afterDelayed is the last message of a page, "TIME,NO".
func (p *params) afterDelayed() *admin.DelayedMessage {
	text := p.text("after")
	if text == "" {
		return nil
	}
	before, number, _ := strings.Cut(text, ",")
	last := &admin.DelayedMessage{}
	at, err := moment(before)
	no, bad := strconv.ParseInt(number, 10, 64)
	if err != nil || bad != nil {
		p.errs = append(p.errs, wrong("after", text, "must be what the page before named as next"))
	}
	last.NotBefore, last.No = at, no
	return last
}

// mostDelayed bounds a page of delayed messages, and delayedStep how many are read from a store
// at a time, since they are read with their payloads.
const (
	mostDelayed = 100
	delayedStep = 20
)

func (c *call) delayed() (list[delayedRow], error) {
	q := admin.DelayedQuery{ID: c.q.text("id"), Topic: c.q.text("topic"), Key: c.q.text("key"), After: c.q.afterDelayed(), Limit: c.q.limitOf(mostDelayed)}
	_, ob, err := c.outbox()
	if err != nil {
		return list[delayedRow]{}, err
	}
	scheduler, err := able[admin.Manager](ob, "delayed messages")
	if err != nil {
		return list[delayedRow]{}, err
	}
	if err := c.q.done(); err != nil {
		return list[delayedRow]{}, err
	}
	return paging[admin.DelayedMessage, delayedRow, *admin.DelayedMessage]{
		limit: q.Limit, step: delayedStep, after: q.After, convert: delayedOf,
		ask: func(after *admin.DelayedMessage, n int) ([]admin.DelayedMessage, error) {
			q.After, q.Limit = after, n
			return scheduler.Delayed(c.ctx(), q)
		},
		cursor: func(m admin.DelayedMessage) *admin.DelayedMessage {
			last := &admin.DelayedMessage{No: m.No} // without the payload
			last.NotBefore = m.NotBefore
			return last
		},
		text: func(m *admin.DelayedMessage) string {
			return m.NotBefore.UTC().Format(time.RFC3339Nano) + "," + decimal(m.No)
		},
	}.list(c)
}
