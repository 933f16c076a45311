package dashboard

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
)

// page is what every template is given.
type page struct {
	Name, Title string
	Base        string
	Who         Identity
	ReadOnly    bool
	Outboxes    []string
	Inboxes     []string
	// Query is what was asked for, by name.
	Query url.Values
	// Status is how all stores are, if it is known.
	Status status
	// Data is what the page is about.
	Data any
	// Notice is what was done a moment ago.
	Notice string

	actions []action
}

// May reports whether the visitor may do what needs role, for forms.
func (p page) May(role string) bool { return !p.ReadOnly && p.Who.Has(Role(role)) }

// Has reports whether the visitor has role.
func (p page) Has(role string) bool { return p.Who.Has(Role(role)) }

// Outbox is the outbox that the page is about, Group the group.
func (p page) Outbox() string { return p.orFirst("outbox", p.Outboxes) }

// Inbox is the inbox that the page is about.
func (p page) Inbox() string { return p.orFirst("inbox", p.Inboxes) }

// Group is the relay group that the page is about.
func (p page) Group() string {
	if g := p.Query.Get("group"); g != "" {
		return g
	}
	return "default"
}

// Groups are the relay groups of the outbox.
func (p page) Groups() (all []string) {
	for _, o := range p.Status.Outboxes {
		for _, g := range o.Groups {
			if o.Name == p.Outbox() {
				all = append(all, g.Name)
			}
		}
	}
	return all
}

// Parked is the number of records that wait for an operator, Dead of those that were given up.
func (p page) Parked() (n int) {
	for _, o := range p.Status.Outboxes {
		for _, g := range o.Groups {
			n += g.Parked
		}
	}
	return n
}

// ParkedAt is the query of the page with most records that wait for an operator, "" if there are
// none: the first outbox may have none of them.
func (p page) ParkedAt() string {
	most, q := 0, url.Values{}
	for _, o := range p.Status.Outboxes {
		for _, g := range o.Groups {
			if g.Parked > most {
				most = g.Parked
				q.Set("outbox", o.Name)
				q.Set("group", g.Name)
			}
		}
	}
	if most == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// Next is the address of the next page of a list.
func (p page) Next(cursor string) string { return nextPage(p.Query, cursor) }

// nextPage is the address of the next page of a list that was asked for by query.
func nextPage(query url.Values, cursor string) string {
	q := url.Values{}
	maps.Copy(q, query)
	q.Set("after", cursor)
	return "?" + q.Encode()
}

func (p page) orFirst(name string, all []string) string {
	if chosen := p.Query.Get(name); chosen != "" || len(all) == 0 {
		return chosen
	}
	return all[0]
}

// render answers with a page.
func (c *call) render(ctx context.Context, status int, name string, data any) {
	p := page{
		Name: name, Title: title(name), Base: c.d.cfg.Base, Who: c.who, ReadOnly: c.d.cfg.ReadOnly,
		Outboxes: names(c.d.cfg.Outboxes), Inboxes: names(c.d.cfg.Inboxes), Query: c.r.URL.Query(), Data: data,
		actions: c.d.actions,
	}
	if c.who.Has(RoleViewer) {
		if s, err := c.d.sampler.get(ctx, idleAge); err == nil {
			p.Status = c.d.status(s)
		}
		p.Notice = notice(p.actions, p.Query)
	}
	body := bounded{most: c.d.mostAnswer()}
	if err := c.d.pages[name].Execute(&body, p); err != nil {
		if _, ok := errors.AsType[*answerError](err); ok && name != "error" {
			c.d.fail(ctx, c, err)
			return
		}
		c.d.cfg.Logger.ErrorContext(ctx, "page was not made", slog.String("page", name), slog.Any("error", err))
		http.Error(c.w, "the page was not made: the log has why", http.StatusInternalServerError)
		return
	}
	c.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	c.w.WriteHeader(status)
	_, _ = c.w.Write(body.Bytes())
}

// MayDo reports whether the visitor may do what an action is called.
func (p page) MayDo(name string) bool {
	for _, a := range p.actions {
		if a.name == name {
			return p.May(string(a.role))
		}
	}
	return false
}

// Self is the address of the page, for refreshing it.
func (p page) Self() string {
	q := url.Values{}
	maps.Copy(q, p.Query)
	q.Del("did")
	q.Del("n")
	q.Del("others")
	path := p.Name
	if path == "overview" {
		path = ""
	}
	if len(q) == 0 {
		return p.Base + path
	}
	return p.Base + path + "?" + q.Encode()
}
