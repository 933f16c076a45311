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
	"time"

	"github.com/leat-go/leat/outbox/admin"
)

// tabs are the pages that every page leads to.
func tabs() []string {
	return []string{"overview", "groups", "parked", "retried", "dead", "delayed", "inboxes", "retention", "audit"}
}

// pageRoutes are the pages. Each shows what one or several routes of the API answer. All of them take a scope, which
// their links keep, whether they heed it or not.
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

// scope is the place that a page is about.
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

// outboxes are those within the scope.
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

// mostPlaces bounds the groups that one page shows lists of.
const mostPlaces = 20

// places are the groups within the scope of which has is true. A group that was chosen is always among them.
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

// also answers another request with other parameters. What it takes of the room for rows is gone for those that follow.
func also[T any](c *call, look func(c *call) (T, error), query url.Values) (T, error) {
	other := *c
	other.q = newParams(query)
	return look(&other)
}

// shared is also for several requests that share the room for rows.
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

// pick returns those parameters of a request that are named.
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

// overviewData is the state of what is in the scope.
type overviewData struct {
	status

	Sparks map[place]spark
}

func (o overviewData) docTitle() string {
	var pages, tickets int
	for _, a := range o.Alarms {
		switch a.Severity {
		case severityPage:
			pages++
		case severityTicket:
			tickets++
		}
	}
	var parts []string
	if pages > 0 {
		parts = append(parts, count(pages, "page", "pages"))
	}
	if tickets > 0 {
		parts = append(parts, count(tickets, "ticket", "tickets"))
	}
	if len(parts) == 0 {
		return "Overview"
	}
	return strings.Join(parts, ", ") + " · Overview"
}

// Groups, Enqueued and Settled are the numbers of groups, and of messages a second.
func (o overviewData) Groups() (n int) {
	for _, ob := range o.Outboxes {
		n += len(ob.Groups)
	}
	return n
}

// Enqueued is how many messages are enqueued in a second.
func (o overviewData) Enqueued() (n float64) {
	for _, ob := range o.Outboxes {
		n += ob.Rate
	}
	return n
}

// Settled is how many records all groups settle in a second.
func (o overviewData) Settled() (n float64) {
	for _, ob := range o.Outboxes {
		for _, g := range ob.Groups {
			n += g.Settled
		}
	}
	return n
}

// Works reports whether a relay of each outbox leads: then nothing that is missing is fine.
func (o overviewData) Works() (relays int) {
	for _, ob := range o.Outboxes {
		for _, g := range ob.Groups {
			for _, s := range g.Slots {
				if s.LeaseLeft > 0 {
					relays++
				}
			}
		}
	}
	return relays
}

func (c *call) overviewPage() (any, error) { return c.overview() }

func (c *call) overview() (overviewData, error) {
	if err := c.q.done(); err != nil {
		return overviewData{}, err
	}
	if _, err := c.outboxes(); err != nil {
		return overviewData{}, err
	}
	s, err := c.d.sampler.get(c.ctx(), watchedAge)
	if err != nil {
		return overviewData{}, err
	}
	st := c.d.status(s).in(c.scope())
	if c.scope().Outbox != "" {
		st.Inboxes = nil
	}
	return overviewData{st, sparks(c.d.sampler.past())}, nil
}

// groupData is a group, and the table of groups if none was chosen.
type groupData struct {
	overviewData

	// One is the group that was chosen.
	One *groupAt
	Row groupRow
	Out []outRow
}

func (d groupData) docTitle() string {
	if d.One == nil {
		return count(d.Groups(), "group", "groups")
	}
	word, _ := d.One.State()
	return word + " · Group"
}

// Overview is what the table of groups shows.
func (d groupData) Overview() overviewData { return d.overviewData }

func (c *call) groupsPage() (any, error) {
	all, err := c.overview()
	if err != nil {
		return nil, err
	}
	data, in := groupData{overviewData: all}, c.scope()
	groups := all.status.within(in)
	if in.Group == "" && len(groups) != 1 {
		return data, nil
	}
	if len(groups) == 0 {
		return nil, fmt.Errorf("%w: outbox %.100q has no group %.100q", errNothing, in.Outbox, in.Group)
	}
	data.One = &groups[0]
	rows, err := also(c, (*call).groups, url.Values{"outbox": {data.One.Outbox}})
	if err != nil {
		return nil, err
	}
	for _, row := range rows.Items {
		if row.Name == data.One.Group {
			data.Row = row
		}
	}
	data.Out = outOf(data.One.Out, data.Row.Breakers)
	return data, nil
}

// outRow is a destination that is out, as the leader of its slot has stored it, and as a relay of this process knows it.
type outRow struct {
	outageRow

	NextProbe time.Time
}

// Why says plainly why the destination is out.
func (o outRow) Why() string {
	switch o.Cause {
	case "outage":
		return "It does not answer"
	case "unavailable":
		return "It does not take the topic"
	default:
		return "Its records fail for reasons that nobody knows"
	}
}

// outOf merges what is known of destinations that are out, by topic.
func outOf(stored []outageRow, here []breakerRow) (all []outRow) {
	for _, o := range stored {
		all = append(all, outRow{outageRow: o})
	}
	for _, b := range here {
		i := slices.IndexFunc(all, func(o outRow) bool { return o.Topic == b.Topic })
		if i < 0 {
			cause := "outage"
			if b.Unavailable {
				cause = "unavailable"
			}
			all = append(all, outRow{outageRow: outageRow{Topic: b.Topic, Cause: cause, Since: b.Since, Error: b.Error}})
			i = len(all) - 1
		}
		all[i].NextProbe = b.NextProbe
	}
	return all
}

// causeRow is one way in which records of a group have failed, of any topics.
type causeRow struct {
	place
	failuresRow

	Topics []string
}

// Sentence says plainly what a kind of failure means.
func (r causeRow) Sentence() string { return sentence(r.Kind) }

func sentence(kind string) string {
	switch kind {
	case "permanent":
		return "Refused for good"
	case "outage":
		return "The destination did not answer"
	case "unknown":
		return "All attempts have failed"
	default:
		return "Set aside"
	}
}

// Pattern selects the topics of the row in a filter.
func (r causeRow) Pattern() string {
	if len(r.Topics) == 1 {
		return r.Topics[0]
	}
	return "*"
}

// causesOf merges failures that differ in their topics only.
func causesOf(at place, failures []failuresRow) (all []causeRow) {
	for _, f := range failures {
		i := slices.IndexFunc(all, func(r causeRow) bool { return r.Kind == f.Kind && r.Fingerprint == f.Fingerprint })
		if i < 0 {
			all = append(all, causeRow{at, f, []string{f.Topic}})
			continue
		}
		r := &all[i]
		r.Topics = append(r.Topics, f.Topic)
		r.Records += f.Records
		if f.First.Before(r.First) {
			r.First = f.First
		}
		if f.Last.After(r.Last) {
			r.Last = f.Last
		}
	}
	return all
}

// causes are those of all places, the most records first.
func (c *call) causes(places []place, filter url.Values) (all []causeRow, err error) {
	room := c.apart()
	for _, at := range places {
		l, err := shared(room, (*call).failures, merged(filter, at.query()))
		if err != nil {
			return nil, err
		}
		all = append(all, causesOf(at, l.Items)...)
	}
	slices.SortStableFunc(all, func(a, b causeRow) int { return cmp.Compare(b.Records, a.Records) })
	return all, nil
}

// placesOf are the groups of causes.
func placesOf(rows []causeRow) (all []place) {
	for _, row := range rows {
		if !slices.Contains(all, row.place) {
			all = append(all, row.place)
		}
	}
	return all
}

// keysPart is the parked keys of a group, recordsPart its records.
type keysPart struct {
	place
	Keys list[keyRow]
}

type recordsPart struct {
	place
	Records list[heldRow]
	Out     []outRow
}

type parkedData struct {
	Causes []causeRow
	Parts  []keysPart
	// Records are those of a key that was asked for.
	Records *recordsPart
	// More is set if more groups have parked records than are shown.
	More bool
}

// each is how many rows of each of several groups a page shows.
func each(places []place) url.Values {
	if len(places) > 1 {
		return url.Values{"limit": {"10"}}
	}
	return nil
}

// parkedPage shows what is parked by cause, by key, and, of a key, by record.
func (c *call) parkedPage() (any, error) {
	topic, after, key := c.pick("topic"), c.pick("after"), c.pick("topic", "key", "state")
	if err := c.q.done(); err != nil {
		return nil, err
	}
	places, more, err := c.places(func(g groupStatus) bool { return g.Parked > 0 })
	if err != nil {
		return nil, err
	}
	data := parkedData{More: more}
	if key.Has("key") || key.Has("state") {
		at := c.scope()
		if at.Group == "" {
			at = first(places)
		}
		records, err := also(c.apart(), (*call).parked, merged(key, at.query()))
		data.Records = &recordsPart{place: at, Records: records}
		return data, err
	}
	if data.Causes, err = c.causes(places, topic); err != nil {
		return nil, err
	}
	room := c.apart()
	for _, at := range places {
		query := merged(merged(topic, at.query()), each(places))
		if len(places) == 1 {
			query = merged(query, after)
		}
		keys, err := shared(room, (*call).parkedKeys, query)
		if err != nil {
			return nil, err
		}
		data.Parts = append(data.Parts, keysPart{at, keys})
	}
	return data, nil
}

type recordsData struct {
	Causes []causeRow
	Parts  []recordsPart
	More   bool
}

// records returns records of each place.
func (c *call) records(places []place, look func(c *call) (list[heldRow], error), query, after url.Values) (all []recordsPart, err error) {
	room := c.apart()
	for _, at := range places {
		q := merged(merged(query, at.query()), each(places))
		if len(places) == 1 {
			q = merged(q, after)
		}
		l, err := shared(room, look, q)
		if err != nil {
			return nil, err
		}
		all = append(all, recordsPart{place: at, Records: l})
	}
	return all, nil
}

// retriedPage shows which destinations are out, and what is tried again.
func (c *call) retriedPage() (any, error) {
	query, after := c.pick("topic", "key"), c.pick("after")
	if err := c.q.done(); err != nil {
		return nil, err
	}
	places, more, err := c.places(func(g groupStatus) bool { return g.Retrying > 0 || len(g.Out) > 0 })
	if err != nil {
		return nil, err
	}
	data := recordsData{More: more}
	if data.Parts, err = c.records(places, (*call).parked, merged(query, url.Values{"state": {string(admin.HeldRetrying)}}), after); err != nil {
		return nil, err
	}
	s, err := c.d.sampler.get(c.ctx(), watchedAge)
	if err != nil {
		return nil, err
	}
	for _, g := range c.d.status(s).within(c.scope()) {
		for i := range data.Parts {
			if data.Parts[i].place == g.place {
				data.Parts[i].Out = outOf(g.Out, c.breakers(g.Outbox, g.Group))
			}
		}
	}
	return data, nil
}

func (c *call) deadPage() (any, error) {
	query, more := c.pick("topic"), c.pick("key", "after")
	if err := c.q.done(); err != nil {
		return nil, err
	}
	places, cut, err := c.places(func(g groupStatus) bool { return g.Dead > 0 })
	if err != nil {
		return nil, err
	}
	data := recordsData{More: cut}
	if data.Causes, err = c.causes(places, merged(query, url.Values{"dead": {"true"}})); err != nil {
		return nil, err
	}
	key := url.Values{}
	if more.Has("key") {
		key.Set("key", more.Get("key"))
	}
	more.Del("key")
	data.Parts, err = c.records(places, (*call).dead, merged(query, key), more)
	return data, err
}

type delayedPart struct {
	Outbox string
	Rows   list[delayedRow]
}

// delayedPage shows what each outbox is to send later.
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
	return data, cmp.Or(errs[:]...) // one alone: the text of another may be for the log only
}

type retentionData struct {
	Parts   []rangesPart
	Inboxes []inboxRow
}

// rangesPart is the ranges of an outbox. None is set if its store has no ranges.
type rangesPart struct {
	Outbox string
	Ranges list[rangeRow]
	None   bool
}

// retentionPage shows the ranges of each outbox that has some, and what each inbox forgets.
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

// auditPart is the audit of an outbox, or of an inbox.
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

// notice is the text about what a form has done. It is our own, since an address could hold
// any.
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

	// Problem is why nothing was looked for.
	Problem string
}

func (traceData) docTitle() string { return "Trace" }

// tracePage keeps the form where the id alone does not tell since when to look.
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
