package dashboard

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// The ways in which a text in the search box is read.
const (
	asNumber = "number"
	asID     = "id"
	asTopic  = "topic"
	asKey    = "key"
)

// uuid matches ids of leat's own.
var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// readAs returns how a text in the search box is read, and what to search for.
func readAs(text string) (as, what string) {
	text = strings.TrimSpace(text)
	for _, prefix := range []string{asNumber, asID, asTopic, asKey} {
		if rest, ok := strings.CutPrefix(text, prefix+":"); ok {
			return prefix, strings.TrimSpace(rest)
		}
	}
	digits := strings.ReplaceAll(strings.TrimPrefix(text, "#"), ",", "")
	_, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case err == nil && (strings.HasPrefix(text, "#") || len(digits) < 19):
		return asNumber, digits
	case uuid.MatchString(text):
		return asID, text
	case strings.Contains(text, "*"):
		return asTopic, text
	default:
		return asKey, text
	}
}

// foundRow is a found message with its outbox.
type foundRow struct {
	recordRow

	Outbox string
}

// messagesData is the result of a search.
type messagesData struct {
	// Asked is set if a search was made. As is how the text was read, and What the searched
	// value.
	Asked    bool
	Text     string
	As, What string
	// Exact are the messages with the number or the id.
	Exact []foundRow
	Parts []foundPart
	// Problem is the reason why the search is incomplete.
	Problem string
}

// foundPart is the result in an outbox. The numbers From to To were searched; Last is the last
// number of the log.
type foundPart struct {
	Outbox         string
	Rows           list[recordRow]
	From, To, Last int64
	Oldest         bool
}

// looked fills in the searched range.
func (f *foundPart) looked(st status, q url.Values) {
	f.Oldest = q.Get("oldest") == "true"
	for _, o := range st.Outboxes {
		if o.Name == f.Outbox {
			f.Last = o.LastSeq
		}
	}
	f.To, _ = strconv.ParseInt(f.Rows.Next, 10, 64) // the number of the cursor, or 0
	f.Last = max(f.Last, f.To)
	f.From, _ = strconv.ParseInt(q.Get("after"), 10, 64)
	if f.From == 0 && !f.Oldest {
		f.From = f.Last
	}
}

func (d messagesData) docTitle() string {
	if !d.Asked {
		return "Search"
	}
	return "Search for " + middle(d.Text)
}

// Found returns how many messages the page shows.
func (d messagesData) Found() int {
	n := len(d.Exact)
	for _, part := range d.Parts {
		n += len(part.Rows.Items)
	}
	return n
}

// Readings returns the ways in which a text can be read.
func (messagesData) Readings() []string { return []string{asKey, asNumber, asID, asTopic} }

// messagesPage searches the outboxes in the scope, by the search box or by a form.
func (c *call) messagesPage() (any, error) {
	box, query := c.pick("q", "as"), c.pick("topic", "key", "key_prefix", "type", "from", "to", "oldest", "limit")
	after := c.pick("after")
	if err := c.q.done(); err != nil {
		return nil, err
	}
	outboxes, err := c.outboxes()
	if err != nil {
		return nil, err
	}
	data := messagesData{Text: box.Get("q"), Asked: box.Has("q") || len(query) > 0}
	if box.Has("q") {
		data.As, data.What = readAs(data.Text)
		if as := box.Get("as"); as != "" {
			if !slices.Contains([]string{asNumber, asID, asTopic, asKey}, as) {
				return nil, wrong("as", as, "must be number, id, topic or key")
			}
			data.As, data.What = as, strings.TrimSpace(data.Text)
		}
	}
	switch data.As {
	case asNumber:
		return c.findNumber(data, outboxes)
	case asID:
		return c.findID(data, outboxes)
	case asTopic:
		query.Set("topic", data.What)
	case asKey:
		query.Set("key_prefix", data.What)
	}
	s, err := c.d.sampler.get(c.ctx(), idleAge)
	if err != nil {
		return nil, err
	}
	room, st := c.apart(), c.d.status(s)
	for _, name := range outboxes {
		q := merged(query, url.Values{"outbox": {name}})
		if len(outboxes) == 1 {
			q = merged(q, after)
		} else if !query.Has("limit") {
			q.Set("limit", "20")
		}
		l, err := shared(room, (*call).messages, q)
		if errors.Is(err, errCapability) && len(outboxes) > 1 {
			continue
		}
		if err != nil {
			return nil, err
		}
		part := foundPart{Outbox: name, Rows: l}
		part.looked(st, q)
		data.Parts = append(data.Parts, part)
	}
	return data, nil
}

// findNumber looks for the record with a number in each outbox.
func (c *call) findNumber(data messagesData, outboxes []string) (any, error) {
	seq, err := strconv.ParseInt(data.What, 10, 64)
	if err != nil || seq < 1 {
		data.Problem = "That is not the number of a record."
		return data, nil //nolint:nilerr // the page shows it
	}
	for _, name := range outboxes {
		r, err := c.atNumber(c.d.cfg.Outboxes[name], c.scope().Group, seq)
		if errors.Is(err, errNothing) {
			continue
		}
		if err != nil {
			return nil, err
		}
		data.Exact = append(data.Exact, foundRow{recordOf(r), name})
	}
	return data, nil
}

// findID looks for the messages with an id in each outbox.
func (c *call) findID(data messagesData, outboxes []string) (any, error) {
	var found list[foundRow]
	for _, name := range outboxes {
		manager, err := able[admin.Manager](c.d.cfg.Outboxes[name], "log that can be searched")
		if err != nil {
			continue
		}
		t, err := manager.Trace(c.ctx(), admin.TraceQuery{ID: data.What})
		if errors.Is(err, admin.ErrInvalidRequest) {
			data.Problem = "The id does not tell when it was enqueued."
			return data, nil
		}
		if err != nil {
			return nil, err
		}
		records := []outbox.Record{}
		for _, m := range t.Messages {
			records = append(records, m.Record)
		}
		for _, h := range slices.Concat(t.Held, t.Dead) {
			if !slices.ContainsFunc(records, func(r outbox.Record) bool { return r.Seq == h.Seq }) {
				records = append(records, h.Record)
			}
		}
		for _, r := range records {
			found.add(c, foundRow{recordOf(r), name})
		}
	}
	data.Exact = found.Items
	return data, nil
}

// messageData is a message, with its records for the operator's actions.
type messageData struct {
	messageRow

	// Held is the record as the chosen group, or another one, has set it aside. Dead is set if it
	// was given up.
	Held *heldRow
	Dead bool
	// Order holds the records of its key that the group holds: the first ones, and those behind
	// this one.
	Order []heldRow
	// Behind is the number of records of the key that wait behind it.
	Behind int

	// before and after are the numbers of the neighbouring messages of its key in the log, 0 if
	// none is near.
	before, after int64
}

func (d messageData) docTitle() string {
	return strings.TrimSpace("#" + grouped(d.Seq) + " " + d.State())
}

// State returns the worst state of the message.
func (d messageData) State() string {
	switch {
	case d.Held == nil:
		return ""
	case d.Dead:
		return "dead"
	case d.Held.Waits:
		return "waits"
	case d.Held.State == string(admin.HeldRetrying):
		return "retried"
	default:
		return "parked"
	}
}

// Page returns the page that lists records in this state.
func (d messageData) Page() string {
	switch {
	case d.Dead:
		return "dead"
	case d.Held != nil && d.Held.State == string(admin.HeldRetrying):
		return "retried"
	default:
		return "parked"
	}
}

// Tone returns the CSS class of State.
func (d messageData) Tone() string {
	switch d.State() {
	case "parked", "dead":
		return "bad"
	default:
		return "warn"
	}
}

// neighbour is a record directly before or behind another one of its key. State is "" if it is
// not held.
type neighbour struct {
	Seq   int64
	State string
}

// Previous returns the record before it in its key, if known: a held one, or else one of the log.
func (d messageData) Previous() *neighbour { return d.neighbour(-1, d.before) }

// Next returns the record behind it in its key.
func (d messageData) Next() *neighbour { return d.neighbour(1, d.after) }

func (d messageData) neighbour(step int, inLog int64) *neighbour {
	i := slices.IndexFunc(d.Order, func(h heldRow) bool { return h.Seq == d.Seq })
	if at := i + step; i >= 0 && at >= 0 && at < len(d.Order) {
		h := d.Order[at]
		if h.Waits {
			return &neighbour{h.Seq, "waits"}
		}
		return &neighbour{h.Seq, h.State}
	}
	if inLog == 0 {
		return nil
	}
	return &neighbour{inLog, ""}
}

// mostAround is how many messages of the log are searched for the neighbours of a message.
const mostAround = 5_000

// around looks for the messages of the key before and behind a message in the log, 0 for none.
func (c *call) around(row recordRow, ob admin.Outbox) (before, after int64, err error) {
	searcher, ok := ob.(admin.Manager)
	if !ok || row.Key == "" {
		return 0, 0, nil
	}
	look := func(newest bool) (int64, error) {
		page, err := searcher.Search(c.ctx(), admin.MessageQuery{
			Topic: row.Topic, Key: row.Key, After: row.Seq, Newest: newest, Limit: 1, Scan: mostAround, OmitPayload: true,
		})
		if r := first(page.Records); r.Topic == row.Topic { // in a pattern, * is any text
			return r.Seq, err
		}
		return 0, err
	}
	if before, err = look(true); err == nil {
		after, err = look(false)
	}
	return before, after, err
}

// mostOrder is how many records of a key are shown before and behind a record.
const mostOrder = 5

// messagePage shows a message, and the group's records of its key if it is set aside.
func (c *call) messagePage() (any, error) {
	row, err := c.message()
	if err != nil {
		return nil, err
	}
	data := messageData{messageRow: row}
	ob, group := c.d.cfg.Outboxes[row.Outbox], c.scope().Group
	data.Held, data.Dead = data.worst(group)
	if data.before, data.after, err = c.around(row.recordRow, ob); err != nil {
		return nil, err
	}
	if data.Held == nil && row.Trace == nil { // a store that cannot be searched
		held, err := ob.Held(c.ctx(), admin.HeldQuery{Group: group, After: row.Seq - 1, Limit: 1, OmitPayload: true})
		if err != nil {
			return nil, err
		}
		if len(held) == 1 && held[0].Seq == row.Seq {
			h := heldOf(held[0])
			data.Held = &h
		}
	}
	if data.Held == nil || data.Dead || row.Key == "" {
		return data, nil
	}
	var order list[heldRow]
	for _, after := range []int64{0, row.Seq - 1} {
		held, err := ob.Held(c.ctx(), admin.HeldQuery{
			Group: data.Held.Group, Topic: row.Topic, Key: row.Key, After: after, Limit: mostOrder, OmitPayload: true,
		})
		if err != nil {
			return nil, err
		}
		for _, h := range held {
			if h.Topic == row.Topic && !slices.ContainsFunc(order.Items, func(o heldRow) bool { return o.Seq == h.Seq }) {
				order.add(c, heldOf(h))
			}
		}
	}
	data.Order = order.Items
	if len(data.Order) > 0 && data.Order[0].Seq == row.Seq && !data.Held.Waits {
		keys, err := ob.ParkedKeys(c.ctx(), admin.KeysQuery{Group: data.Held.Group, Topic: row.Topic, After: row.Seq - 1, Limit: 1})
		if err != nil {
			return nil, err
		}
		if key := first(keys); key.Seq == row.Seq {
			data.Behind = key.Records - 1
		}
	}
	return data, nil
}

// worst picks the record of the requested group, or else of the group where its state is worst.
func (d messageData) worst(group string) (held *heldRow, dead bool) {
	if d.Trace == nil {
		return nil, false
	}
	best := -1
	for i, h := range slices.Concat(d.Trace.Held, d.Trace.Dead) {
		if h.Seq != d.Seq {
			continue
		}
		gone := i >= len(d.Trace.Held)
		n := trouble(h, gone)
		if h.Group == group {
			n += 10
		}
		if n > best {
			best, held, dead = n, &h, gone
		}
	}
	return held, dead
}

// trouble ranks the ways in which a group has set a record aside: parked is worst.
func trouble(h heldRow, dead bool) int {
	switch {
	case dead:
		return 1
	case h.Waits:
		return 2
	case h.State == string(admin.HeldRetrying):
		return 3
	default:
		return 4
	}
}
