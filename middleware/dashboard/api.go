package dashboard

import (
	"net/http"
	"strings"
)

// apiRoutes are those that look.
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

// changeRoutes are those that change something.
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

// answers makes a route of a function that returns what is sent as JSON.
func answers[T any](look func(c *call) (T, error)) func(c *call) error {
	return func(c *call) error {
		v, err := look(c)
		if err != nil {
			return err
		}
		return c.json(http.StatusOK, "application/json", v)
	}
}

// meRow is who asks, and what may be asked for.
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
