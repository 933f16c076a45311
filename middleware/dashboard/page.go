package dashboard

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// page is what every template is given.
type page struct {
	Name, Title string
	// path is that of the page below Base, "" for the answer to a form.
	path     string
	Base     string
	Who      Identity
	ReadOnly bool
	Outboxes []string
	Inboxes  []string
	// Query is what was asked for, by name.
	Query url.Values
	// In is the outbox and the group that all pages are about, as far as one was chosen.
	In place
	// Status is how all stores are, if it is known.
	Status status
	// View is how the visitor wants pages to look.
	View view
	// Data is what the page is about.
	Data any
	// Notice is what was done a moment ago.
	Notice string

	actions  []action
	traceURL string
}

// place is an outbox, or one of its groups. The zero value is all of them.
type place struct{ Outbox, Group string }

// String returns the names of p.
func (p place) String() string {
	switch {
	case p.Outbox == "":
		return "All outboxes"
	case p.Group == "":
		return p.Outbox
	default:
		return p.Outbox + " / " + p.Group
	}
}

// within reports whether p is within the scope.
func (p place) within(scope place) bool {
	return (scope.Outbox == "" || scope.Outbox == p.Outbox) && (scope.Group == "" || scope.Group == p.Group)
}

// query is p as parameters.
func (p place) query() url.Values {
	q := url.Values{}
	if p.Outbox != "" {
		q.Set("outbox", p.Outbox)
	}
	if p.Group != "" {
		q.Set("group", p.Group)
	}
	return q
}

// May reports whether the visitor may do what needs role, for forms.
func (p page) May(role string) bool { return !p.ReadOnly && p.Who.Has(Role(role)) }

// Has reports whether the visitor has role.
func (p page) Has(role string) bool { return p.Who.Has(Role(role)) }

// Outbox is the outbox that the page is about.
func (p page) Outbox() string { return p.orFirst("outbox", p.Outboxes) }

// Inbox is the inbox that the page is about.
func (p page) Inbox() string { return p.orFirst("inbox", p.Inboxes) }

func (p page) orFirst(name string, all []string) string {
	if chosen := p.Query.Get(name); chosen != "" || len(all) == 0 {
		return chosen
	}
	return all[0]
}

// Group is the relay group that the page is about.
func (p page) Group() string { return cmp.Or(p.Query.Get("group"), "default") }

// link is the address of a page with parameters.
func (p page) link(name string, q url.Values) string {
	target := p.Base + strings.TrimPrefix(name, "overview")
	if len(q) > 0 {
		target += "?" + q.Encode()
	}
	return target
}

// To is the address of a page in the scope of this one, with more parameters, by name and value in turns.
func (p page) To(name string, more ...string) string {
	return p.At(p.In.Outbox, p.In.Group, name, more...)
}

// At is the address of a page about an outbox and a group.
func (p page) At(outbox, group, name string, more ...string) string {
	q := place{outbox, group}.query()
	for i := 0; i+1 < len(more); i += 2 {
		if more[i+1] != "" {
			q.Set(more[i], more[i+1])
		}
	}
	return p.link(name, q)
}

// Rescoped is the address of this page in another scope, or of the overview if it is about one thing.
func (p page) Rescoped(outbox, group string) string {
	name := p.Name
	switch {
	case slices.Contains(tabs(), name) && name != "inboxes":
	case name == "messages":
	default:
		name = "overview"
	}
	return p.At(outbox, group, name)
}

// IsIn reports whether the scope is just this.
func (p page) IsIn(outbox, group string) bool { return p.In == place{outbox, group} }

// Next is the address of the next page of a list.
func (p page) Next(cursor string) string { return nextPage(p.Query, cursor) }

// nextPage is the address of the next page of a list that was asked for by query.
func nextPage(query url.Values, cursor string) string {
	q := url.Values{}
	maps.Copy(q, query)
	q.Set("after", cursor)
	return "?" + q.Encode()
}

// NextIn is the address of the next page of the part of a list that is about one outbox.
func (p page) NextIn(outbox, cursor string) string {
	q := url.Values{}
	maps.Copy(q, p.Query)
	q.Set("outbox", outbox)
	return nextPage(q, cursor)
}

// Spark is the line of a group, nil if nothing is known.
func (page) Spark(all map[place]spark, outbox, group string) *spark {
	line, ok := all[place{outbox, group}]
	if !ok {
		return nil
	}
	return &line
}

// Groups are the groups within the scope, with their figures.
func (p page) Groups() (n int) {
	for range p.Status.within(p.In) {
		n++
	}
	return n
}

// Count is the number that a tab shows, -1 for a tab without.
func (p page) Count(name string) int {
	n := 0
	switch name {
	case "groups":
		return p.Groups()
	case "inboxes":
		for _, in := range p.Status.Inboxes {
			n += int(in.Parked)
		}
	case "delayed":
		for _, o := range p.Status.Outboxes {
			if p.In.Outbox == "" || p.In.Outbox == o.Name {
				n += o.Delayed
			}
		}
	case "parked", "retried", "dead":
		for _, g := range p.Status.within(p.In) {
			n += map[string]int{"parked": g.Parked, "retried": g.Retrying, "dead": g.Dead}[name]
		}
	default:
		return -1
	}
	return n
}

// Kinds is what the number of a tab counts.
func (page) Kinds(name string) string {
	return map[string]string{
		"groups": "groups", "parked": "parked records", "retried": "records that are tried again", "dead": "records that were given up",
		"delayed": "delayed messages", "inboxes": "parked messages of inboxes",
	}[name]
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

// told are the parameters that tell what was done a moment ago.
var told = []string{"did", "n", "others", "rest"} //nolint:gochecknoglobals // a constant

// Self is the address of the page, for refreshing it.
func (p page) Self() string {
	q := url.Values{}
	maps.Copy(q, p.Query)
	for _, name := range told {
		q.Del(name)
	}
	return p.link(p.path, q)
}

// Again is the address of the page with what was done a moment ago.
func (p page) Again() string { return p.link(p.path, p.Query) }

// Here is where the visitor is, below Base, for going back to it.
func (p page) Here() string { return strings.TrimPrefix(p.Self(), p.Base) }

// traceparent is what the header of W3C's trace context looks like, with the id of the trace.
var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}`)

// TraceLink is the address of the trace that a header names, "" if it names none or nobody has said where traces are.
func (p page) TraceLink(name, value string) string {
	found := traceparent.FindStringSubmatch(value)
	if p.traceURL == "" || found == nil || !strings.EqualFold(name, "traceparent") {
		return ""
	}
	return strings.ReplaceAll(p.traceURL, traceID, found[1])
}

// DocTitle is the title of the window: what is wrong or how many there are, of what, where.
func (p page) DocTitle() string {
	parts := []string{p.Title}
	if titled, ok := p.Data.(interface{ docTitle() string }); ok {
		parts[0] = titled.docTitle()
	} else if n := p.Count(p.Name); n >= 0 {
		parts[0] = grouped(n) + " " + strings.ToLower(p.Title)
	}
	if p.In.Outbox != "" {
		parts = append(parts, p.In.String())
	}
	return strings.Join(append(parts, "leat"), " · ")
}

// render answers with a page.
func (c *call) render(ctx context.Context, status int, name string, data any) {
	p := page{
		Name: name, Title: title(name), Base: c.d.cfg.Base, Who: c.who, ReadOnly: c.d.cfg.ReadOnly,
		Outboxes: names(c.d.cfg.Outboxes), Inboxes: names(c.d.cfg.Inboxes), Query: c.r.URL.Query(), Data: data,
		View: viewOf(c.r), actions: c.d.actions, traceURL: c.d.cfg.TraceURL,
	}
	if c.r.Method == http.MethodGet {
		p.path = strings.TrimPrefix((&url.URL{Path: c.r.URL.Path}).EscapedPath(), "/")
	}
	p.In = c.scope()
	if c.who.Has(RoleViewer) {
		if s, err := c.d.sampler.get(ctx, idleAge); err == nil {
			p.Status = c.d.status(s)
		}
		p.Notice = notice(p.actions, p.Query)
	}
	body := bounded{most: c.d.mostAnswer()}
	if err := c.d.pages[p.View.Clock][name].Execute(&body, p); err != nil {
		if _, ok := errors.AsType[*answerError](err); ok && name != "error" {
			c.d.fail(ctx, c, err)
			return
		}
		c.d.cfg.Logger.ErrorContext(ctx, "page was not made", slog.String("page", name), slog.Any("error", err))
		http.Error(c.w, "the page was not made: the log has why", http.StatusInternalServerError)
		return
	}
	c.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	send(c.w, c.r, status, body.Bytes(), sameSite(c.r))
}

// sameSite reports whether a browser says that its visitor has asked, or a page of the dashboard. What the page of
// another site asks for is not compressed: its length would tell what it has in common with the address.
func sameSite(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "same-origin" || site == "none"
}

// send answers with a body, compressed if it may be and the client takes it.
func send(w http.ResponseWriter, r *http.Request, status int, body []byte, may bool) {
	w.Header().Add("Vary", "Accept-Encoding, Sec-Fetch-Site")
	if !may || !takesGzip(r) || len(body) < 1000 {
		w.WriteHeader(status)
		_, _ = w.Write(body) //nolint:gosec // of html/template, JSON with nosniff, or an asset
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	zip := gzip.NewWriter(w)
	_, _ = zip.Write(body)
	_ = zip.Close()
}

// takesGzip reports whether the client names gzip, and does not refuse it.
func takesGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		coding, weight, _ := strings.Cut(strings.ReplaceAll(part, " ", ""), ";")
		if strings.EqualFold(coding, "gzip") {
			return strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != "" || weight == ""
		}
	}
	return false
}

// view is how a visitor wants pages to look. The zero value is how they look by default.
type view struct{ Theme, Density, Clock string }

// viewChoices are what a visitor may choose, the default first.
func viewChoices() [3][]string {
	return [3][]string{{"auto", "light", "dark"}, {"comfortable", "compact"}, {"ago", "utc", "local"}}
}

const viewCookie = "leat_view"

// viewOf reads what the visitor has chosen.
func viewOf(r *http.Request) view {
	var chosen []string
	if cookie, err := r.Cookie(viewCookie); err == nil {
		chosen = strings.Split(cookie.Value, ".")
	}
	return chosenView(chosen)
}

// chosenView returns a view of what was chosen, and of the defaults for what was not.
func chosenView(chosen []string) view {
	var v [3]string
	for i, choices := range viewChoices() {
		v[i] = choices[0]
		if i < len(chosen) && slices.Contains(choices, chosen[i]) {
			v[i] = chosen[i]
		}
	}
	return view{v[0], v[1], v[2]}
}

// keepView keeps how the visitor wants pages to look, in a cookie of the browser. It changes nothing else, and
// tells nothing: nobody has to sign in for it, and a dashboard that is read only has it.
func (d *Dashboard) keepView(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, mostBody)
	if err := r.ParseForm(); err != nil {
		d.fail(r.Context(), &call{d: d, w: w, r: r}, badBody(err))
		return
	}
	v := chosenView([]string{r.PostForm.Get("theme"), r.PostForm.Get("density"), r.PostForm.Get("clock")})
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // it is secure where the dashboard is, and tells nothing
		Name: viewCookie, Value: strings.Join([]string{v.Theme, v.Density, v.Clock}, "."), Path: d.cfg.Base,
		MaxAge: 365 * 24 * 60 * 60, HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteLaxMode,
	})
	target := url.URL{Path: d.cfg.Base}
	if back, err := url.Parse(r.PostForm.Get("back")); err == nil {
		target.Path += path.Clean("/" + back.Path)[1:]
		target.RawQuery = back.RawQuery
	}
	http.Redirect(w, r, target.String(), http.StatusSeeOther)
}
