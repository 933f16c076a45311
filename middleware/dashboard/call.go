package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/outbox/admin"
)

// call is a request that is being answered.
type call struct {
	d   *Dashboard
	w   http.ResponseWriter
	r   *http.Request
	who Identity
	q   *params
	// left is how many bytes of rows the answer still takes.
	left int
}

func (c *call) ctx() context.Context { return c.r.Context() }

// apiPath is where the API is, below Config.Base.
const apiPath = "/api/v1/"

// forAPI reports whether the answer is JSON.
func (c *call) forAPI() bool {
	base := strings.TrimSuffix(c.d.cfg.Base, "/")
	return strings.HasPrefix(strings.TrimPrefix(c.r.URL.Path, base), apiPath)
}

// json answers with v, or returns why it cannot. What cannot be sent any more is the client's loss.
func (c *call) json(status int, kind string, v any) error {
	body := bounded{most: c.d.mostAnswer()}
	if err := json.NewEncoder(&body).Encode(v); err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", kind)
	c.w.WriteHeader(status)
	_, _ = c.w.Write(body.Bytes())
	return nil
}

// names are those of stores, ascending.
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

// able returns what store is beyond an outbox or an inbox.
func able[T any](store any, what string) (T, error) {
	capable, ok := store.(T)
	if !ok {
		return capable, fmt.Errorf("%w: it keeps no %s", errCapability, what)
	}
	return capable, nil
}
