package dashboard

import (
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

// heldQuery reads what both lists of records share.
func (c *call) heldQuery() admin.HeldQuery {
	return admin.HeldQuery{
		Group: c.q.text("group"), Topic: c.q.text("topic"), Key: c.q.text("key"), After: c.q.number("after"), Limit: c.q.limit(), OmitPayload: true,
	}
}

// parked lists records that are held, those that are tried again included if state says so.
func (c *call) parked() (list[heldRow], error) {
	q := c.heldQuery()
	q.State = admin.HeldState(c.q.text("state"))
	if q.State == "" {
		q.State = admin.HeldParked
	}
	_, ob, err := c.outbox()
	if err != nil {
		return list[heldRow]{}, err
	}
	if err := c.q.done(); err != nil {
		return list[heldRow]{}, err
	}
	held, err := ob.Held(c.ctx(), q)
	return listOf(held, q.Limit, heldOf, seqOfHeld), err
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
	held, err := ob.Dead(c.ctx(), q)
	return listOf(held, q.Limit, heldOf, seqOfHeld), err
}

func seqOfHeld(h admin.HeldRecord) string { return strconv.FormatInt(h.Seq, 10) }

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
	keys, err := ob.ParkedKeys(c.ctx(), q)
	return listOf(keys, q.Limit, func(k admin.ParkedKey) keyRow {
		return keyRow{k.Key.Topic, k.Key.Key, k.Seq, k.ID, k.Records, k.Attempts, k.Reason, k.LastError, k.LastKind, k.Since}
	}, func(k admin.ParkedKey) string { return strconv.FormatInt(k.Seq, 10) }), err
}

// failuresRow is one way in which records have failed.
type failuresRow struct {
	Topic       string    `json:"topic"`
	Kind        string    `json:"kind"`
	Fingerprint string    `json:"fingerprint"`
	Example     string    `json:"example"`
	Records     int       `json:"records"`
	First       time.Time `json:"first"`
	Last        time.Time `json:"last"`
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
	return listOf(failures, q.Limit, func(f admin.FailureGroup) failuresRow { return failuresRow(f) }, nil), err
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

// mostDelayed bounds a page of delayed messages, which are read with their payloads.
const mostDelayed = 100

func (c *call) delayed() (list[delayedRow], error) {
	q := admin.DelayedQuery{ID: c.q.text("id"), Topic: c.q.text("topic"), Key: c.q.text("key"), After: c.q.afterDelayed(), Limit: c.q.limitOf(mostDelayed)}
	_, ob, err := c.outbox()
	if err != nil {
		return list[delayedRow]{}, err
	}
	scheduler, err := able[admin.Scheduler](ob, "delayed messages")
	if err != nil {
		return list[delayedRow]{}, err
	}
	if err := c.q.done(); err != nil {
		return list[delayedRow]{}, err
	}
	messages, err := scheduler.Delayed(c.ctx(), q)
	return listOf(messages, q.Limit, delayedOf, func(m admin.DelayedMessage) string {
		return m.NotBefore.UTC().Format(time.RFC3339Nano) + "," + strconv.FormatInt(m.No, 10)
	}), err
}
