package dashboard

import (
	"encoding/csv"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/outbox/admin"
)

// rangeRow is a part of the log. To is 0 if it has no end.
type rangeRow struct {
	Table    string   `json:"table"`
	From     int64    `json:"from"`
	To       int64    `json:"to,omitempty"`
	Bytes    int64    `json:"bytes"`
	PinnedBy []string `json:"pinned_by"`
}

func (c *call) ranges() (list[rangeRow], error) {
	none := list[rangeRow]{Items: []rangeRow{}}
	_, ob, err := c.outbox()
	if err == nil {
		err = c.q.done()
	}
	if err != nil {
		return none, err
	}
	lister, err := able[admin.RangeLister](ob, "ranges")
	if err != nil {
		return none, err
	}
	ranges, err := lister.Ranges(c.ctx())
	return listOf(c, ranges, len(ranges)+1, func(r admin.Range) rangeRow {
		row := rangeRow{r.Table, r.From, r.To, r.Bytes, append([]string{}, r.PinnedBy...)}
		if r.Open() {
			row.To = 0
		}
		return row
	}, nil), err
}

// auditRow is an entry of the audit of an outbox or of an inbox.
type auditRow struct {
	No       int64           `json:"no"`
	At       time.Time       `json:"at"`
	Action   string          `json:"action"`
	Actor    string          `json:"actor"`
	Reason   string          `json:"reason"`
	Group    string          `json:"group,omitempty"`
	Consumer string          `json:"consumer,omitempty"`
	Seq      int64           `json:"seq,omitempty"`
	ID       string          `json:"id,omitempty"`
	Topic    string          `json:"topic,omitempty"`
	Key      string          `json:"key,omitempty"`
	Details  json.RawMessage `json:"details,omitempty"`
}

// audit answers with the audit of an outbox, or of an inbox if one is named, the newest first.
func (c *call) audit() (list[auditRow], error) {
	if _, ok := c.q.values["inbox"]; ok && c.q.values.Get("inbox") != "" {
		return c.inboxAudit()
	}
	q := admin.AuditQuery{
		Group: c.q.text("group"), Action: c.q.text("action"), ID: c.q.text("id"), Since: c.q.time("since"),
		After: c.q.number("after"), Newest: !c.q.flag("oldest"), Limit: c.q.limit(),
	}
	c.q.text("inbox") // one form serves both
	c.q.text("consumer")
	_, ob, err := c.outbox()
	if err == nil {
		err = c.q.done()
	}
	if err != nil {
		return list[auditRow]{}, err
	}
	return paging[admin.AuditEntry, auditRow, int64]{
		limit: q.Limit, after: q.After, text: decimal,
		ask: func(after int64, n int) ([]admin.AuditEntry, error) {
			q.After, q.Limit = after, n
			return ob.Audit(c.ctx(), q)
		},
		convert: func(e admin.AuditEntry) auditRow {
			return auditRow{e.No, e.At, e.Action, e.Actor, e.Reason, e.Group, "", e.Seq, e.ID, e.Topic, e.Key, e.Details}
		},
		cursor: func(e admin.AuditEntry) int64 { return e.No },
	}.list(c)
}

func (c *call) inboxAudit() (list[auditRow], error) {
	q := inboxadmin.AuditQuery{
		Consumer: c.q.text("consumer"), Action: c.q.text("action"), ID: c.q.text("id"), Since: c.q.time("since"),
		After: c.q.number("after"), Newest: !c.q.flag("oldest"), Limit: c.q.limit(),
	}
	c.q.text("outbox") // one form serves both
	c.q.text("group")
	_, in, err := c.inbox()
	if err == nil {
		err = c.q.done()
	}
	if err != nil {
		return list[auditRow]{}, err
	}
	auditor, err := able[inboxadmin.Auditor](in, "audit")
	if err != nil {
		return list[auditRow]{}, err
	}
	return paging[inboxadmin.AuditEntry, auditRow, int64]{
		limit: q.Limit, after: q.After, text: decimal,
		ask: func(after int64, n int) ([]inboxadmin.AuditEntry, error) {
			q.After, q.Limit = after, n
			return auditor.Audit(c.ctx(), q)
		},
		convert: func(e inboxadmin.AuditEntry) auditRow {
			return auditRow{e.No, e.At, e.Action, e.Actor, e.Reason, "", e.Consumer, e.ParkedNo, e.ID, e.Topic, e.Key, e.Details}
		},
		cursor: func(e inboxadmin.AuditEntry) int64 { return e.No },
	}.list(c)
}

// auditCSV sends a page of the audit as a file for a spreadsheet: up to 10,000 entries, as many
// as fit. If there are more, its header Link has the next page.
func (c *call) auditCSV() error {
	if c.q.values.Get("limit") == "" {
		c.q.values.Set("limit", "10000")
	}
	entries, err := c.audit()
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	c.w.Header().Set("Content-Disposition", `attachment; filename="audit.csv"`)
	if entries.Next != "" {
		c.w.Header().Set("Link", "<"+nextPage(c.r.URL.Query(), entries.Next)+`>; rel="next"`)
	}
	w := csv.NewWriter(c.w)
	_ = w.Write([]string{"no", "at", "action", "actor", "reason", "group", "consumer", "seq", "id", "topic", "key", "details"})
	for _, e := range entries.Items {
		row := []string{
			strconv.FormatInt(e.No, 10), e.At.UTC().Format(time.RFC3339Nano), e.Action, e.Actor, e.Reason, e.Group, e.Consumer,
			strconv.FormatInt(e.Seq, 10), e.ID, e.Topic, e.Key, string(e.Details),
		}
		for i := range row {
			row[i] = harmless(row[i])
		}
		_ = w.Write(row)
	}
	w.Flush()
	return w.Error()
}

// harmless escapes a text that a spreadsheet would take for a formula.
func harmless(text string) string {
	if strings.ContainsAny(text[:min(1, len(text))], "=+-@\t\r") {
		return "'" + text
	}
	return text
}
