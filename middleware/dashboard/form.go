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

// readForm reads the change that a form requests.
func readForm(p *params) (ch change, confirmed bool, err error) {
	ch = change{
		Outbox: p.text("outbox"), Inbox: p.text("inbox"), Group: p.text("group"), Consumer: p.text("consumer"),
		Selection: selection{
			Topic: p.text("topic"), Key: p.text("key"), ID: p.text("id"), Topics: p.text("topics"), Kind: p.text("kind"),
			Fingerprint: p.text("fingerprint"), Before: p.time("before"),
		},
		Topics: strings.FieldsFunc(p.text("patterns"), func(r rune) bool { return r == ',' || r == '\n' || r == '\r' }),
		MaxLag: p.seconds("max_lag"), Reason: p.text("reason"), Token: p.text("token"),
	}
	for i, pattern := range ch.Topics {
		ch.Topics[i] = strings.TrimSpace(pattern)
	}
	ch.Picks, ch.First, ch.Rest = p.picks(), p.flag("first"), p.text("rest")
	p.text("typed")                   // by its pattern, the browser refuses another number
	if at := p.text("at"); at != "" { // a group of any outbox, as one choice
		q, err := parseQuery(at)
		one := newParams(q)
		ch.Outbox, ch.Group = one.text("outbox"), one.text("group")
		if err := cmp.Or(err, one.done()); err != nil {
			return ch, false, err
		}
	}
	confirmed = p.flag("confirmed") && !ch.First
	return ch, confirmed, p.done()
}

// mostPicks bounds the ticked rows of a list: a page has no more.
const mostPicks = 100

// picks reads the ticked rows: each value is a query with topic and key, or with id.
func (p *params) picks() (all []selection) {
	p.read["pick"] = true
	if len(p.values["pick"]) > mostPicks {
		p.errs = append(p.errs, wrong("pick", "", fmt.Sprintf("may be given at most %d times", mostPicks)))
		return nil
	}
	for _, text := range p.values["pick"] {
		q, err := parseQuery(text)
		one := newParams(q)
		s := selection{Topic: one.text("topic"), Key: one.text("key"), ID: one.text("id")}
		if err = cmp.Or(err, one.done()); err != nil || s == (selection{}) {
			p.errs = append(p.errs, wrong("pick", text, "must name a topic and a key, or an id"))
			return nil
		}
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// seconds reads a duration such as 1h30m.
func (p *params) seconds(name string) float64 {
	text := p.text(name)
	if text == "" || text == "0" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		p.errs = append(p.errs, wrong(name, text, "must be a duration such as 1h30m, or 0"))
	}
	return d.Seconds()
}

// confirmData is the change to confirm.
type confirmData struct {
	Action  action
	Change  change
	Preview changed
	// Keys are the first keys that are changed.
	Keys []keyRow
	// Problem is the reason why the change was not made.
	Problem string
}

// Name returns the name of the action.
func (d confirmData) Name() string { return d.Action.name }

// Back returns the page of the form.
func (d confirmData) Back() string { return d.Action.page }

// Counts reports whether records are counted.
func (d confirmData) Counts() bool { return d.Action.counts }

// Gone reports whether the selected records are lost by it.
func (d confirmData) Gone() bool { return d.Action.words().gone }

// Effects describes what happens to the records.
func (d confirmData) Effects() []string { return d.Action.words().effects }

// MayTryOne reports whether one of several records can be redriven first.
func (d confirmData) MayTryOne() bool {
	return d.Action.redrives() && d.Preview.Count > 1 && d.Change.Selection.filters() && len(d.Change.Picks) == 0
}

// Typed reports whether the user must type the number of records: if more than one would be lost.
func (d confirmData) Typed() bool { return d.Gone() && d.Preview.Count > 1 }

// Does returns the text of the button, which is also used in the question above it.
func (d confirmData) Does() string {
	verb := d.Action.words().verb
	switch {
	case d.Name() == "groups:remove":
		return "Remove group " + d.Change.Group
	case !d.Counts():
		return verb + " group " + d.Change.Group
	case d.Action.page == "delayed", d.Action.ofInbox():
		return verb + " " + count(d.Preview.Count, "message", "messages")
	default:
		return verb + " " + count(d.Preview.Count, "record", "records")
	}
}

func (d confirmData) docTitle() string { return d.Does() + "?" }

// Pick returns a selection of a key or an id as the value of a field.
func (s selection) Pick() string {
	q := url.Values{}
	for name, value := range map[string]string{"topic": s.Topic, "key": s.Key, "id": s.ID} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q.Encode()
}

// form shows a preview of a form's change, and makes the change when the form is sent again with
// a reason.
func (c *call) form(a action) error {
	c.r.Body = http.MaxBytesReader(c.w, c.r.Body, mostBody)
	if err := c.r.ParseForm(); err != nil {
		return badBody(err)
	}
	ch, confirmed, err := readForm(newParams(c.r.PostForm))
	if err == nil {
		ch, err = c.inStore(a, ch)
	}
	if err != nil {
		return err
	}
	c.at = place{ch.Outbox, ch.Group}
	if ch.First {
		if ch, err = c.firstOf(a, ch); err != nil {
			return err
		}
	}
	if !confirmed {
		return c.confirm(http.StatusOK, a, ch, "")
	}
	one := c.numberOf(a, ch)
	done, err := c.perform(a, ch)
	switch {
	case err == nil:
		http.Redirect(c.w, c.r, c.back(a, ch, done, one), http.StatusSeeOther)
		return nil
	case errors.Is(err, errChanged), errors.Is(err, admin.ErrInvalidRequest):
		status, _ := statusOf(err)
		return c.confirm(status, a, ch, strings.TrimPrefix(err.Error(), "leat: "))
	default:
		return err
	}
}

// confirm asks for a reason, and shows the problem of the last attempt.
func (c *call) confirm(status int, a action, ch change, problem string) error {
	data := confirmData{Action: a, Change: ch, Problem: problem}
	ch.DryRun, ch.Reason, ch.Token = true, "", ""
	var err error
	if data.Preview, err = c.perform(a, ch); err != nil {
		return err
	}
	if data.Keys, err = c.sample(a, ch, data.Preview.IDs); err != nil {
		return err
	}
	c.render(c.ctx(), status, "confirm", data)
	return nil
}

// firstOf limits a change to the first record that it selects.
func (c *call) firstOf(a action, ch change) (change, error) {
	if !a.redrives() || !ch.Selection.filters() || len(ch.Picks) > 0 {
		return ch, wrong("first", "true", "is for redriving by a filter")
	}
	dry := ch
	dry.DryRun, dry.Reason = true, ""
	found, err := c.perform(a, dry)
	if err != nil || len(found.IDs) == 0 {
		return ch, err
	}
	ch.Rest = ch.rest().Encode()
	ch.Selection = selection{ID: found.IDs[0]}
	return ch, nil
}

// redrives reports whether a redrives records.
func (a action) redrives() bool { return strings.HasSuffix(a.name, ":redrive") }

// rest returns the filter as parameters.
func (ch change) rest() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{
		"outbox": ch.Outbox, "inbox": ch.Inbox, "group": ch.Group, "consumer": ch.Consumer,
		"topics": ch.Selection.Topics, "kind": ch.Selection.Kind, "fingerprint": ch.Selection.Fingerprint,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if !ch.Selection.Before.IsZero() {
		q.Set("before", ch.Selection.Before.Format(time.RFC3339Nano))
	}
	return q
}

// offer is the offer, after one record of a cause was redriven, to redrive all of them.
type offer struct {
	Action string
	Fields map[string]string
}

// Rest returns the offer of the page, nil if it has none.
func (p page) Rest() *offer {
	name := p.Query.Get("did")
	q, err := parseQuery(p.Query.Get("rest"))
	if err != nil || len(q) == 0 || !p.MayDo(name) {
		return nil
	}
	o := &offer{name, map[string]string{}}
	for _, field := range []string{"outbox", "inbox", "group", "consumer", "topics", "kind", "fingerprint", "before"} {
		o.Fields[field] = q.Get(field)
	}
	return o
}

// mostSample is how many keys a confirmation shows.
const mostSample = 5

// sample returns the first keys that a change of parked records affects, which an operator may
// recognise.
func (c *call) sample(a action, ch change, ids []string) (all []keyRow, err error) {
	if a.page != "parked" {
		return nil, nil
	}
	query := url.Values{"outbox": {ch.Outbox}, "group": {cmp.Or(ch.Group, "default")}}
	if pattern := cmp.Or(ch.Selection.Topics, ch.Selection.Topic); pattern != "" {
		query.Set("topic", pattern)
	}
	keys, err := also(c.apart(), (*call).parkedKeys, query)
	if err != nil {
		return nil, err
	}
	for _, key := range keys.Items {
		if len(all) < mostSample && slices.Contains(ids, key.ID) {
			all = append(all, key)
		}
	}
	return all, nil
}

// back returns the address of the page of a form, or of the one record, with the result as
// parameters.
func (c *call) back(a action, ch change, done changed, one int64) string {
	q := url.Values{"did": {a.name}, "n": {strconv.Itoa(done.Count)}}
	if done.Others > 0 {
		q.Set("others", strconv.Itoa(done.Others))
	}
	stores := map[string]string{"outbox": ch.Outbox, "inbox": ch.Inbox}
	if a.page == "parked" || a.page == "dead" || a.page == "groups" && a.name != "groups:remove" {
		stores["group"] = ch.Group
	}
	for name, value := range stores {
		if value != "" {
			q.Set(name, value)
		}
	}
	target := a.page
	if ch.Rest != "" {
		q.Set("rest", ch.Rest)
		if one > 0 {
			target = "messages/" + decimal(one)
		}
	}
	return c.d.cfg.Base + target + "?" + q.Encode()
}

// numberOf returns the number of the record that a change by id selects, 0 if it is not found
// among the first ones.
func (c *call) numberOf(a action, ch change) int64 {
	if ch.Rest == "" || a.ofInbox() {
		return 0
	}
	look, query := (*call).parked, url.Values{"outbox": {ch.Outbox}, "group": {cmp.Or(ch.Group, "default")}}
	if a.page == "dead" {
		look = (*call).dead
	}
	if of, err := parseQuery(ch.Rest); err == nil && of.Has("topics") {
		query.Set("topic", of.Get("topics"))
	}
	held, err := also(c.apart(), look, query)
	if err != nil {
		return 0 // the next page is then the list
	}
	i := slices.IndexFunc(held.Items, func(h heldRow) bool { return h.ID == ch.Selection.ID })
	if i < 0 {
		return 0
	}
	return held.Items[i].Seq
}
