package dashboard

import (
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// recordRow is a record without its payload.
type recordRow struct {
	Seq        int64     `json:"seq"`
	ID         string    `json:"id"`
	Topic      string    `json:"topic"`
	Key        string    `json:"key"`
	Type       string    `json:"type,omitempty"`
	OccurredAt time.Time `json:"occurred_at,omitzero"`
	CreatedAt  time.Time `json:"created_at"`
}

func recordOf(r outbox.Record) recordRow {
	return recordRow{r.Seq, r.ID, r.Topic, r.Key, r.Type, r.OccurredAt, r.CreatedAt}
}

// pageScan is how many messages a page scans in each log: more would take longer than users wait.
// The page shows how far it has scanned, and can continue.
const pageScan = 50_000

// messages searches the log.
func (c *call) messages() (list[recordRow], error) {
	q := admin.MessageQuery{
		Topic: c.q.text("topic"), Key: c.q.text("key"), KeyPrefix: c.q.text("key_prefix"), Type: c.q.text("type"), From: c.q.time("from"), To: c.q.time("to"),
		After: c.q.number("after"), Newest: !c.q.flag("oldest"), Limit: c.q.limit(), OmitPayload: true,
	}
	_, ob, err := c.outbox()
	if err != nil {
		return list[recordRow]{}, err
	}
	searcher, err := able[admin.Manager](ob, "log that can be searched")
	if err != nil {
		return list[recordRow]{}, err
	}
	if err := c.q.done(); err != nil {
		return list[recordRow]{}, err
	}
	q.Limit = min(q.Limit, mostStep)
	if !c.forAPI() {
		q.Scan = pageScan
	}
	page, err := searcher.Search(c.ctx(), q)
	l := listOf(c, page.Records, len(page.Records)+1, recordOf, func(r outbox.Record) string { return decimal(r.Seq) })
	if l.Next == "" && page.Next > 0 {
		l.Next = decimal(page.Next)
	}
	return l, err
}

// messageRow is a message with everything known about it.
type messageRow struct {
	recordRow

	Outbox string `json:"outbox"`
	// Headers and Payload are left out for those without RolePayload.
	Headers map[string]string `json:"headers,omitempty"`
	Payload *payloadView      `json:"payload,omitempty"`
	Trace   *traceRow         `json:"trace,omitempty"`
}

// record returns the record with the number in the path: from the log, or, for stores that cannot
// be searched, from the records that a group has set aside.
func (c *call) record() (outbox.Record, string, error) {
	name, ob, err := c.outbox()
	group := c.q.text("group")
	seq, bad := strconv.ParseInt(c.r.PathValue("seq"), 10, 64)
	if bad != nil || seq < 1 {
		return outbox.Record{}, name, wrong("seq", c.r.PathValue("seq"), "must be the number of a record")
	}
	if err == nil {
		err = c.q.done()
	}
	if err != nil {
		return outbox.Record{}, name, err
	}
	r, err := c.atNumber(ob, group, seq)
	if errors.Is(err, errNothing) {
		err = fmt.Errorf("%w: outbox %.100q has no record %d", errNothing, name, seq)
	}
	return r, name, err
}

// atNumber returns the record with a number, from the log or from the records that a group has
// set aside.
func (c *call) atNumber(ob admin.Outbox, group string, seq int64) (outbox.Record, error) {
	if searcher, ok := ob.(admin.Manager); ok {
		page, err := searcher.Search(c.ctx(), admin.MessageQuery{After: seq - 1, Limit: 1, Scan: 1})
		if err != nil || len(page.Records) == 1 && page.Records[0].Seq == seq {
			return first(page.Records), err
		}
	}
	for _, look := range []func() ([]admin.HeldRecord, error){
		func() ([]admin.HeldRecord, error) {
			return ob.Held(c.ctx(), admin.HeldQuery{Group: group, After: seq - 1, Limit: 1})
		},
		func() ([]admin.HeldRecord, error) {
			return ob.Dead(c.ctx(), admin.HeldQuery{Group: group, After: seq - 1, Limit: 1})
		},
	} {
		held, err := look()
		if err != nil || len(held) == 1 && held[0].Seq == seq {
			return first(held).Record, err
		}
	}
	return outbox.Record{}, errNothing
}

func first[T any](all []T) (one T) {
	if len(all) > 0 {
		one = all[0]
	}
	return one
}

// message answers with a record and its state in the groups.
func (c *call) message() (messageRow, error) {
	r, name, err := c.record()
	if err != nil {
		return messageRow{}, err
	}
	row := messageRow{recordRow: recordOf(r), Outbox: name}
	if err := c.disclose(&row, &r); err != nil {
		return row, err
	}
	trace, err := c.traceOf(name, admin.TraceQuery{ID: r.ID, Since: r.CreatedAt.Add(-time.Second)})
	if err != nil && !errors.Is(err, errCapability) {
		return row, err
	}
	if err == nil {
		row.Trace = &trace
	}
	return row, nil
}

// disclose adds headers and payload to row for users who may see them, and reports the view.
func (c *call) disclose(row *messageRow, r *outbox.Record) error {
	if !c.who.Has(RolePayload) {
		return nil
	}
	if err := c.viewed(View{Outbox: row.Outbox, Topic: r.Topic, ID: r.ID}); err != nil {
		return err
	}
	row.Headers = c.d.cfg.Redact.headers(r.Headers)
	row.Payload = c.d.view(r.Topic, outbox.ToWatermill(r).Metadata, r.Payload)
	return nil
}

// payload answers with the stored payload, with the redactions applied.
func (c *call) payload() error {
	r, name, err := c.record()
	if err == nil {
		err = c.viewed(View{Outbox: name, Topic: r.Topic, ID: r.ID, Download: true})
	}
	if err != nil {
		return err
	}
	return c.download("message-"+strconv.FormatInt(r.Seq, 10), r.Topic, outbox.ToWatermill(&r).Metadata, r.Payload)
}

// download sends a payload as a file that browsers do not open as a page.
func (c *call) download(name, topic string, headers map[string]string, payload []byte) error {
	content := c.d.content(topic, headers, payload)
	switch {
	case content.form == formWithheld:
		return errWithheld
	case len(c.d.cfg.Redact.Paths) == 0:
		content.body = payload
	case content.decoded:
		name += ".json"
	}
	c.w.Header().Set("Content-Type", "application/octet-stream")
	c.w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	c.w.Header().Set("Content-Length", strconv.Itoa(len(content.body)))
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.w.Write(content.body)
	return nil
}

// View describes that a user looks at the payload and the headers of a message.
type View struct {
	// Actor is the user, Mode how they have signed in, and Address where the request came from.
	Actor, Mode, Address string
	// Outbox or Inbox is the name of the store, Topic and ID are the topic and the id of the message.
	Outbox, Inbox, Topic, ID string
	// Download is set if the whole payload is sent, as a file.
	Download bool
}

// viewed reports a view before anything is shown. An error refuses the view.
func (c *call) viewed(v View) error {
	v.Actor, v.Mode, v.Address = c.who.Actor, c.who.Mode, c.r.RemoteAddr
	c.d.cfg.Logger.InfoContext(c.ctx(), "payload was viewed", slog.String("actor", v.Actor), slog.String("address", v.Address),
		slog.String("outbox", v.Outbox), slog.String("inbox", v.Inbox), slog.String("message_id", v.ID), slog.Bool("download", v.Download))
	if c.d.cfg.OnView == nil {
		return nil
	}
	if err := c.d.cfg.OnView(c.ctx(), v); err != nil {
		return fmt.Errorf("a look at message %.200q is refused: %w", v.ID, err)
	}
	return nil
}
