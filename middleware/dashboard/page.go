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

// page is the data of every template.
type page struct {
	Name, Title string
	// path is the path of the page below Base, "" for the answer to a form.
	path     string
	Base     string
	Who      Identity
	ReadOnly bool
	Outboxes []string
	Inboxes  []string
	// Query holds the parameters of the request.
	Query url.Values
	// In is the scope of all pages: the chosen outbox and group, if any.
	In place
	// Status is the state of all stores, if known.
	Status status
	// View is the visitor's choice of how pages look.
	View view
	// Data is the page's own data.
	Data any
	// Notice is the message about a change that was just made.
	Notice string

	actions  []action
	traceURL string
}

// place is an outbox, or one of its groups. The zero value stands for all outboxes.
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

// query returns p as parameters.
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

// May reports whether the visitor may make changes that need role, for forms.
func (p page) May(role string) bool { return !p.ReadOnly && p.Who.Has(Role(role)) }

// Has reports whether the visitor has role.
func (p page) Has(role string) bool { return p.Who.Has(Role(role)) }

// Outbox returns the outbox of the page.
func (p page) Outbox() string { return p.orFirst("outbox", p.Outboxes) }

// Inbox returns the inbox of the page.
func (p page) Inbox() string { return p.orFirst("inbox", p.Inboxes) }

func (p page) orFirst(name string, all []string) string {
	if chosen := p.Query.Get(name); chosen != "" || len(all) == 0 {
		return chosen
	}
	return all[0]
}

// Group returns the relay group of the page.
func (p page) Group() string { return cmp.Or(p.Query.Get("group"), "default") }

// link returns the address of a page with parameters.
func (p page) link(name string, q url.Values) string {
	target := p.Base + strings.TrimPrefix(name, "overview")
	if len(q) > 0 {
		target += "?" + q.Encode()
	}
	return target
}

// To returns the address of a page in the scope of this one, with more parameters as alternating
// names and values.
func (p page) To(name string, more ...string) string {
	return p.At(p.In.Outbox, p.In.Group, name, more...)
}

// At returns the address of a page about an outbox and a group.
func (p page) At(outbox, group, name string, more ...string) string {
	q := place{outbox, group}.query()
	for i := 0; i+1 < len(more); i += 2 {
		if more[i+1] != "" {
			q.Set(more[i], more[i+1])
		}
	}
	return p.link(name, q)
}

// Rescoped returns the address of this page in another scope, or of the overview if the page
// shows a single item.
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

// IsIn reports whether the scope is exactly this outbox and group.
func (p page) IsIn(outbox, group string) bool { return p.In == place{outbox, group} }

// Next returns the address of the next page of a list.
func (p page) Next(cursor string) string { return nextPage(p.Query, cursor) }

// nextPage returns the address of the next page of a list that was requested with query.
func nextPage(query url.Values, cursor string) string {
	q := url.Values{}
	maps.Copy(q, query)
	q.Set("after", cursor)
	return "?" + q.Encode()
}

// NextIn returns the address of the next page of one outbox's part of a list.
func (p page) NextIn(outbox, cursor string) string {
	q := url.Values{}
	maps.Copy(q, p.Query)
	q.Set("outbox", outbox)
	return nextPage(q, cursor)
}

// Spark returns the backlog line of a group, nil if unknown.
func (page) Spark(all map[place]spark, outbox, group string) *spark {
	line, ok := all[place{outbox, group}]
	if !ok {
		return nil
	}
	return &line
}

// Groups returns the number of groups within the scope.
func (p page) Groups() (n int) {
	for range p.Status.within(p.In) {
		n++
	}
	return n
}

// Count returns the number that a tab shows, -1 for a tab without one.
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

// Kinds returns the name of the things that the number of a tab counts.
func (page) Kinds(name string) string {
	return map[string]string{
		"groups": "groups", "parked": "parked records", "retried": "records that are tried again", "dead": "records that were given up",
		"delayed": "delayed messages", "inboxes": "parked messages of inboxes",
	}[name]
}

// MayDo reports whether the visitor may perform the action with this name.
func (p page) MayDo(name string) bool {
	for _, a := range p.actions {
		if a.name == name {
			return p.May(string(a.role))
		}
	}
	return false
}

// told are the parameters that describe a change that was just made.
var told = []string{"did", "n", "others", "rest"} //nolint:gochecknoglobals // a constant

// Self returns the address of the page, for refreshing it.
func (p page) Self() string {
	q := url.Values{}
	maps.Copy(q, p.Query)
	for _, name := range told {
		q.Del(name)
	}
	return p.link(p.path, q)
}

// Again returns the address of the page, including the parameters about the change that was just
// made.
func (p page) Again() string { return p.link(p.path, p.Query) }

// Here returns the address of the page below Base, for returning to it.
func (p page) Here() string { return strings.TrimPrefix(p.Self(), p.Base) }

// traceparent matches the header of W3C's trace context, and captures the id of the trace.
var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}`)

// TraceLink returns the address of the trace that a header names, "" if it names none or
// Config.TraceURL is not set.
func (p page) TraceLink(name, value string) string {
	found := traceparent.FindStringSubmatch(value)
	if p.traceURL == "" || found == nil || !strings.EqualFold(name, "traceparent") {
		return ""
	}
	return strings.ReplaceAll(p.traceURL, traceID, found[1])
}

// DocTitle returns the title of the window: the problem or the number of items, the page, and the
// scope.
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

// sameSite reports whether, by the browser's headers, the visitor or a page of the dashboard made
// the request. Answers to pages of other sites are not compressed: the length would reveal what
// the answer has in common with the address.
func sameSite(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "same-origin" || site == "none"
}

// send answers with a body, compressed if that is allowed and the client accepts it.
func send(w http.ResponseWriter, r *http.Request, status int, body []byte, may bool) {
	w.Header().Add("Vary", "Accept-Encoding, Sec-Fetch-Site")
	if !may || !takesGzip(r) || len(body) < 1000 {
		w.WriteHeader(status)
		_, _ = w.Write(body) //nolint:gosec // it comes from html/template, is JSON with nosniff, or is an asset
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	zip := gzip.NewWriter(w)
	_, _ = zip.Write(body)
	_ = zip.Close()
}

// takesGzip reports whether the client accepts gzip.
func takesGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		coding, weight, _ := strings.Cut(strings.ReplaceAll(part, " ", ""), ";")
		if strings.EqualFold(coding, "gzip") {
			return strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != "" || weight == ""
		}
	}
	return false
}

// view is a visitor's choice of how pages look. The zero value is the default look.
type view struct{ Theme, Density, Clock string }

// viewChoices returns the choices of a visitor, the default first.
func viewChoices() [3][]string {
	return [3][]string{{"auto", "light", "dark"}, {"comfortable", "compact"}, {"ago", "utc", "local"}}
}

const viewCookie = "leat_view"

// viewOf reads the visitor's choices.
func viewOf(r *http.Request) view {
	var chosen []string
	if cookie, err := r.Cookie(viewCookie); err == nil {
		chosen = strings.Split(cookie.Value, ".")
	}
	return chosenView(chosen)
}

// chosenView returns a view of the chosen values, with defaults for the others.
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

// keepView stores the visitor's view in a cookie of the browser. It changes nothing else, and
// reveals nothing: it needs no sign-in, and a read-only dashboard has it, too.
func (d *Dashboard) keepView(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, mostBody)
	if err := r.ParseForm(); err != nil {
		d.fail(r.Context(), &call{d: d, w: w, r: r}, badBody(err))
		return
	}
	v := chosenView([]string{r.PostForm.Get("theme"), r.PostForm.Get("density"), r.PostForm.Get("clock")})
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // it is secure if the dashboard is, and holds no secret
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
