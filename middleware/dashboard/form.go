package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/outbox/admin"
)

// readForm reads what a form asks for.
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
	confirmed = p.flag("confirmed")
	return ch, confirmed, p.done()
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

// confirmData is what a form is about to do.
type confirmData struct {
	Action  action
	Change  change
	Preview changed
	// Problem is why it was not done.
	Problem string
}

// Name is the action's, Back where it goes back to.
func (d confirmData) Name() string { return d.Action.name }

// Back is the page that the form is on.
func (d confirmData) Back() string { return d.Action.page }

// Counts reports whether records are counted.
func (d confirmData) Counts() bool { return d.Action.counts }

// Gone reports whether what is selected is lost by it.
func (d confirmData) Gone() bool {
	return strings.HasSuffix(d.Action.name, ":drop") || strings.HasSuffix(d.Action.name, ":skip") ||
		strings.HasSuffix(d.Action.name, ":cancel") || strings.HasSuffix(d.Action.name, ":remove")
}

// form shows what a form would do, and does it when it is sent again with a reason.
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
	if !confirmed {
		return c.confirm(http.StatusOK, a, ch, "")
	}
	done, err := c.perform(a, ch)
	switch {
	case err == nil:
		http.Redirect(c.w, c.r, c.back(a, ch, done), http.StatusSeeOther)
		return nil
	case errors.Is(err, errChanged), errors.Is(err, admin.ErrInvalidRequest):
		status, _ := statusOf(err)
		return c.confirm(status, a, ch, strings.TrimPrefix(err.Error(), "leat: "))
	default:
		return err
	}
}

// confirm asks for a reason, after what was wrong with the last attempt.
func (c *call) confirm(status int, a action, ch change, problem string) error {
	data := confirmData{Action: a, Change: ch, Problem: problem}
	ch.DryRun, ch.Reason = true, ""
	var err error
	if data.Preview, err = c.perform(a, ch); err != nil {
		return err
	}
	c.render(c.ctx(), status, "confirm", data)
	return nil
}

// back is the address of the page that a form was on, with what was done.
func (c *call) back(a action, ch change, done changed) string {
	q := url.Values{"did": {a.name}, "n": {strconv.Itoa(done.Count)}}
	if done.Others > 0 {
		q.Set("others", strconv.Itoa(done.Others))
	}
	stores := map[string]string{"outbox": ch.Outbox, "inbox": ch.Inbox}
	if a.page == "parked" || a.page == "dead" {
		stores["group"] = ch.Group
	}
	for name, value := range stores {
		if value != "" {
			q.Set(name, value)
		}
	}
	return c.d.cfg.Base + a.page + "?" + q.Encode()
}
