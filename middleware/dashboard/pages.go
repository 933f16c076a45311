package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/leat-go/leat/outbox/admin"
)

// tabs returns the pages in the navigation.
func tabs() []string {
	return []string{"overview", "groups", "parked", "retried", "dead", "delayed", "inboxes", "retention", "audit"}
}

// pageRoutes returns the routes of the pages. Each page shows the answers of one or several
// routes of the API. All of them accept a scope, which their links keep, even if the page does
// not use it.
func (d *Dashboard) pageRoutes() []route {
	get := func(path, name string, look func(c *call) (any, error)) route {
		return route{"GET /" + path, RoleViewer, func(c *call) error {
			for _, param := range append([]string{"outbox", "group"}, told...) {
				c.q.text(param)
			}
			data, err := look(c)
			if err != nil {
				return err
			}
			c.render(c.ctx(), http.StatusOK, name, data)
			return nil
		}}
	}
	return []route{
		get("{$}", "overview", (*call).overviewPage),
		get("groups", "groups", (*call).groupsPage),
		get("parked", "parked", (*call).parkedPage),
		get("retried", "retried", (*call).retriedPage),
		get("dead", "dead", (*call).deadPage),
		get("delayed", "delayed", (*call).delayedPage),
		get("messages", "messages", (*call).messagesPage),
		get("messages/{seq}", "message", (*call).messagePage),
		get("trace", "trace", (*call).tracePage),
		get("inboxes", "inboxes", (*call).inboxesPage),
		get("inboxes/consumer", "consumer", (*call).consumerPage),
		get("inboxes/parked/{no}", "inboxmessage", func(c *call) (any, error) { return c.inboxMessage() }),
		get("retention", "retention", (*call).retentionPage),
		get("audit", "audit", (*call).auditPage),
	}
}

// scope returns the scope of a page.
func (c *call) scope() place {
	if c.at != (place{}) {
		return c.at
	}
	q := c.r.URL.Query()
	at := place{q.Get("outbox"), q.Get("group")}
	if known := names(c.d.cfg.Outboxes); at.Group != "" && at.Outbox == "" && len(known) > 0 {
		at.Outbox = known[0]
	}
	return at
}

// outboxes returns the names of the outboxes within the scope.
func (c *call) outboxes() ([]string, error) {
	all := names(c.d.cfg.Outboxes)
	in := c.scope()
	if in.Outbox == "" {
		return all, nil
	}
	if !slices.Contains(all, in.Outbox) {
		return nil, fmt.Errorf("%w: outbox %.100q is not among %.500q", errNothing, in.Outbox, all)
	}
	return []string{in.Outbox}, nil
}

// mostPlaces bounds the groups whose lists one page shows.
const mostPlaces = 20

// places returns the groups within the scope for which has is true. A chosen group is always
// among them.
func (c *call) places(has func(g groupStatus) bool) (all []place, more bool, err error) {
	if _, err := c.outboxes(); err != nil {
		return nil, false, err
	}
	in := c.scope()
	if in.Group != "" {
		return []place{in}, false, nil
	}
	s, err := c.d.sampler.get(c.ctx(), watchedAge)
	if err != nil {
		return nil, false, err
	}
	for _, g := range c.d.status(s).within(in) {
		if !has(g.groupStatus) {
			continue
		}
		if len(all) == mostPlaces {
			return all, true, nil
		}
		all = append(all, g.place)
	}
	return all, false, nil
}

// also answers another request with other parameters. Its rows use up the room of the requests
// that follow.
func also[T any](c *call, look func(c *call) (T, error), query url.Values) (T, error) {
	other := *c
	other.q = newParams(query)
	return look(&other)
}

// shared is like also, for several requests that share the room for rows.
func shared[T any](c *call, look func(c *call) (list[T], error), query url.Values) (list[T], error) {
	l, err := also(c, look, query)
	c.left = max(0, c.left-l.bytes)
	return l, err
}

// apart returns a call with room of its own, for another list of the page.
func (c *call) apart() *call {
	other := *c
	other.left = c.room()
	return &other
}

// pick returns the named parameters of a request.
func (c *call) pick(names ...string) url.Values {
	picked := url.Values{}
	for _, name := range names {
		if text := c.q.text(name); text != "" {
			picked.Set(name, text)
		}
	}
	return picked
}

func merged(a, b url.Values) url.Values {
	all := url.Values{}
	for _, values := range []url.Values{a, b} {
		for name := range values {
			all.Set(name, values.Get(name))
		}
	}
	return all
}

type delayedPart struct {
	Outbox string
	Rows   list[delayedRow]
}

// delayedPage shows the delayed messages of each outbox.
func (c *call) delayedPage() (any, error) {
	query, after := c.pick("topic", "key", "id"), c.pick("after")
	if err := c.q.done(); err != nil {
		return nil, err
	}
	outboxes, err := c.outboxes()
	if err != nil {
		return nil, err
	}
	data, room := []delayedPart{}, c.apart()
	for _, name := range outboxes {
		q := merged(query, url.Values{"outbox": {name}})
		if len(outboxes) == 1 {
			q = merged(q, after)
		} else {
			q.Set("limit", "10")
		}
		l, err := shared(room, (*call).delayed, q)
		if errors.Is(err, errCapability) && len(outboxes) > 1 {
			continue
		}
		if err != nil {
			return nil, err
		}
		data = append(data, delayedPart{name, l})
	}
	return data, nil
}

type inboxesData struct {
	Parts []inboxPart
}

type inboxPart struct {
	inboxRow

	Parked list[inboxMessageRow]
}

func (c *call) inboxesPage() (any, error) {
	query, after := c.pick("inbox"), c.pick("after")
	if err := c.q.done(); err != nil {
		return nil, err
	}
	all := names(c.d.cfg.Inboxes)
	if chosen := query.Get("inbox"); chosen != "" {
		all = []string{chosen}
	}
	var data inboxesData
	rows, parked := c.apart(), c.apart()
	for _, name := range all {
		at := url.Values{"inbox": {name}}
		row, err := also(rows, (*call).inboxes, at)
		if err != nil {
			return nil, err
		}
		rows.left = max(0, rows.left-row.Consumers.bytes-row.Failures.bytes)
		if len(all) == 1 {
			at = merged(at, after)
		} else {
			at.Set("limit", "10")
		}
		l, err := shared(parked, (*call).inboxParked, at)
		if err != nil {
			return nil, err
		}
		data.Parts = append(data.Parts, inboxPart{row, l})
	}
	return data, nil
}

type consumerData struct {
	Attempts   list[attemptRow]
	Parked     list[inboxMessageRow]
	Watermarks list[partitionRow]
}

func (c *call) consumerPage() (any, error) {
	query, after := c.pick("inbox", "consumer"), c.pick("after")
	if err := c.q.done(); err != nil {
		return nil, err
	}
	var data consumerData
	var errs [3]error
	data.Attempts, errs[0] = also(c, (*call).inboxAttempts, query)
	data.Parked, errs[1] = also(c, (*call).inboxParked, merged(query, after))
	data.Watermarks, errs[2] = also(c, (*call).watermarks, query)
	return data, cmp.Or(errs[:]...) // only one: the text of another may be for the log only
}

type retentionData struct {
	Parts   []rangesPart
	Inboxes []inboxRow
}

// rangesPart holds the ranges of an outbox. None is set if its store has no ranges.
type rangesPart struct {
	Outbox string
	Ranges list[rangeRow]
	None   bool
}

// retentionPage shows the ranges of each outbox that has some, and the retention of each inbox.
func (c *call) retentionPage() (any, error) {
	if err := c.q.done(); err != nil {
		return nil, err
	}
	outboxes, err := c.outboxes()
	if err != nil {
		return nil, err
	}
	var data retentionData
	room := c.apart()
	for _, name := range outboxes {
		ranges, err := shared(room, (*call).ranges, url.Values{"outbox": {name}})
		if err != nil && !errors.Is(err, errCapability) {
			return nil, err
		}
		data.Parts = append(data.Parts, rangesPart{name, ranges, err != nil})
	}
	rows := c.apart()
	for _, name := range names(c.d.cfg.Inboxes) {
		row, err := also(rows, (*call).inboxes, url.Values{"inbox": {name}})
		if err != nil {
			return nil, err
		}
		rows.left = max(0, rows.left-row.Consumers.bytes-row.Failures.bytes)
		data.Inboxes = append(data.Inboxes, row)
	}
	return data, nil
}

// auditPart holds the audit of an outbox, or of an inbox.
type auditPart struct {
	Outbox, Inbox string
	Rows          list[auditRow]
}

// auditPage shows the audit of an outbox or an inbox, or the newest entries of all outboxes.
func (c *call) auditPage() (any, error) {
	query, after := c.pick("action", "id", "since"), c.pick("after", "oldest")
	inbox, group := c.pick("inbox"), c.pick("group")
	if err := c.q.done(); err != nil {
		return nil, err
	}
	data := []auditPart{}
	if name := inbox.Get("inbox"); name != "" {
		l, err := also(c, (*call).audit, merged(merged(query, after), inbox))
		return append(data, auditPart{Inbox: name, Rows: l}), err
	}
	outboxes, err := c.outboxes()
	if err != nil {
		return nil, err
	}
	query = merged(query, group)
	room := c.apart()
	for _, name := range outboxes {
		q := merged(query, url.Values{"outbox": {name}})
		if len(outboxes) == 1 {
			q = merged(q, after)
		} else {
			q.Set("limit", "10")
		}
		l, err := shared(room, (*call).audit, q)
		if err != nil {
			return nil, err
		}
		data = append(data, auditPart{Outbox: name, Rows: l})
	}
	return data, nil
}

// notice returns the text about a form's change. It is made from fixed texts, since an address
// could contain any text.
func notice(actions []action, q url.Values) string {
	n, err := strconv.Atoi(q.Get("n"))
	for _, a := range actions {
		if err != nil || n < 0 || a.name != q.Get("did") {
			continue
		}
		if !a.counts {
			return a.words().done + "."
		}
		text := count(n, "record", "records") + " " + a.words().done + "."
		if others, err := strconv.Atoi(q.Get("others")); err == nil && others > 0 {
			text += fmt.Sprintf(" Of these %s came after the preview, which did not show them.", grouped(others))
		}
		return text
	}
	return ""
}

type traceData struct {
	traceRow

	// Problem is the reason why no search was made.
	Problem string
}

func (traceData) docTitle() string { return "Trace" }

// tracePage keeps showing the form if the id does not contain the time from which to search.
func (c *call) tracePage() (any, error) {
	query := c.pick("outbox", "id", "since")
	if err := c.q.done(); err != nil {
		return nil, err
	}
	if query.Get("id") == "" {
		return traceData{}, nil
	}
	row, err := also(c, (*call).trace, query)
	if errors.Is(err, admin.ErrInvalidRequest) {
		return traceData{Problem: strings.TrimPrefix(err.Error(), "leat: ")}, nil
	}
	return traceData{traceRow: row}, err
}
