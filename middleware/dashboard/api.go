package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/outbox/admin"
)

// apiRoutes returns the routes that only read.
func (d *Dashboard) apiRoutes() []route {
	get := func(path string, serve func(c *call) error) route {
		return route{"GET " + apiPath + path, RoleViewer, serve}
	}
	return []route{
		get("status", answers((*call).status)),
		get("history", answers((*call).history)),
		get("groups", answers((*call).groups)),
		get("parked", answers((*call).parked)),
		get("parked/keys", answers((*call).parkedKeys)),
		get("failures", answers((*call).failures)),
		get("dead", answers((*call).dead)),
		get("delayed", answers((*call).delayed)),
		get("messages", answers((*call).messages)),
		get("messages/{seq}", answers((*call).message)),
		{"GET " + apiPath + "messages/{seq}/payload", RolePayload, (*call).payload},
		get("trace", answers((*call).trace)),
		get("inboxes", answers((*call).inboxes)),
		get("inboxes/parked", answers((*call).inboxParked)),
		get("inboxes/parked/{no}", answers((*call).inboxMessage)),
		{"GET " + apiPath + "inboxes/parked/{no}/payload", RolePayload, (*call).inboxPayload},
		get("inboxes/attempts", answers((*call).inboxAttempts)),
		get("inboxes/watermarks", answers((*call).watermarks)),
		get("ranges", answers((*call).ranges)),
		get("audit", answers((*call).audit)),
		get("audit.csv", (*call).auditCSV),
		get("me", answers((*call).me)),
		get("openapi.yaml", (*call).openAPI),
		{streamPattern, RoleViewer, (*call).stream},
	}
}

// changeRoutes returns the routes that change something.
func (d *Dashboard) changeRoutes() (all []route) {
	for _, a := range d.actions {
		all = append(all, route{"POST " + apiPath + a.name, a.role, func(c *call) error {
			var ch change
			if err := c.q.done(); err != nil {
				return err
			}
			if err := c.readJSON(&ch); err != nil {
				return err
			}
			done, err := c.perform(a, ch)
			if err != nil {
				return err
			}
			return c.json(http.StatusOK, "application/json", done)
		}}, route{"POST /change/" + a.name, a.role, func(c *call) error { return c.form(a) }})
	}
	return all
}

// answers turns a function into a route that sends the function's result as JSON.
func answers[T any](look func(c *call) (T, error)) func(c *call) error {
	return func(c *call) error {
		v, err := look(c)
		if err != nil {
			return err
		}
		return c.json(http.StatusOK, "application/json", v)
	}
}

// meRow is the identity of the caller, with what it may request.
type meRow struct {
	Actor    string   `json:"actor"`
	Roles    []Role   `json:"roles"`
	ReadOnly bool     `json:"read_only"`
	Outboxes []string `json:"outboxes"`
	Inboxes  []string `json:"inboxes"`
}

func (c *call) me() (meRow, error) {
	return meRow{
		c.who.Actor, append([]Role{}, c.who.Roles...), c.d.cfg.ReadOnly, names(c.d.cfg.Outboxes), names(c.d.cfg.Inboxes),
	}, c.q.done()
}

// openAPI sends the description of the API, with the path under which it is mounted.
func (c *call) openAPI() error {
	if err := c.q.done(); err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "application/yaml")
	_, err := c.w.Write([]byte(strings.Replace(openAPI, "- url: /\n", "- url: "+c.d.cfg.Base+"\n", 1)))
	return err
}

// call is a request that is being answered.
type call struct {
	d   *Dashboard
	w   http.ResponseWriter
	r   *http.Request
	who Identity
	q   *params
	// left is how many bytes of rows still fit into the answer.
	left int
	// at is the scope of the page, if its address does not name it.
	at place
}

func (c *call) ctx() context.Context { return c.r.Context() }

// apiPath is the path of the API, below Config.Base.
const apiPath = "/api/v1/"

// forAPI reports whether the answer is JSON.
func (c *call) forAPI() bool {
	base := strings.TrimSuffix(c.d.cfg.Base, "/")
	return strings.HasPrefix(strings.TrimPrefix(c.r.URL.Path, base), apiPath)
}

// json answers with v, or returns an error if it cannot encode v. Errors of sending are ignored.
func (c *call) json(status int, kind string, v any) error {
	body := bounded{most: c.d.mostAnswer()}
	if err := json.NewEncoder(&body).Encode(v); err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", kind)
	send(c.w, c.r, status, body.Bytes(), sameSite(c.r))
	return nil
}

// names returns the names of stores, ascending.
func names[S any](stores map[string]S) []string {
	all := slices.Sorted(maps.Keys(stores))
	return append([]string{}, all...)
}

// named returns the store that a request names, or the first by name.
func named[S any](c *call, param string, stores map[string]S) (name string, store S, err error) {
	name = c.q.text(param)
	known := names(stores)
	if name == "" && len(known) > 0 {
		name = known[0]
	}
	store, ok := stores[name]
	if !ok {
		return name, store, fmt.Errorf("%w: %s %.100q is not among %.500q", errNothing, param, name, known)
	}
	return name, store, nil
}

func (c *call) outbox() (string, admin.Outbox, error) {
	return named(c, "outbox", c.d.cfg.Outboxes)
}

func (c *call) inbox() (string, inboxadmin.Inbox, error) {
	return named(c, "inbox", c.d.cfg.Inboxes)
}

// able returns store as an optional interface of an outbox or an inbox.
func able[T any](store any, what string) (T, error) {
	capable, ok := store.(T)
	if !ok {
		return capable, fmt.Errorf("%w: it keeps no %s", errCapability, what)
	}
	return capable, nil
}

const (
	streamPattern = "GET " + apiPath + "stream"
	// streamFor is how long one stream lasts: browsers connect again, and sign in again.
	streamFor = 5 * time.Minute
	// streamPatience bounds a write to a client that does not read.
	streamPatience = 10 * time.Second
)

// stream sends the status every two seconds for some minutes, unless the client goes, does not
// read, or its request ends.
func (c *call) stream() error {
	if err := c.q.done(); err != nil {
		return err
	}
	turn := c.d.streams[c.who.class()]
	if !turn.try() {
		return errTooMany
	}
	defer turn.end()
	rc := http.NewResponseController(c.w)
	ctx, cancel := context.WithTimeout(c.ctx(), streamFor)
	defer cancel()
	if c.r.ProtoMajor == 1 {
		c.w.Header().Set("Connection", "close") // its deadline would be that of the next request
	}
	c.w.Header().Set("Content-Type", "text/event-stream")
	c.w.Header().Set("X-Accel-Buffering", "no")
	c.w.WriteHeader(http.StatusOK)
	ticker := time.NewTicker(watchedAge)
	defer ticker.Stop()
	for {
		s, err := c.d.sampler.get(ctx, watchedAge-watchedAge/10)
		if err != nil {
			return nil
		}
		body, err := json.Marshal(c.d.status(s))
		if err != nil || len(body) > c.d.mostAnswer() {
			return nil
		}
		_ = rc.SetWriteDeadline(time.Now().Add(streamPatience)) // instead of the server's, which is for whole answers
		if _, err := fmt.Fprintf(c.w, "event: sample\ndata: %s\n\n", body); err != nil || rc.Flush() != nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
