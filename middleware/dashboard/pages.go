package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/leat-go/leat/outbox/admin"
)

// pageRoutes are the pages. Each shows what one or several routes of the API answer.
func (d *Dashboard) pageRoutes() []route {
	get := func(path, name string, look func(c *call) (any, error)) route {
		return route{"GET /" + path, RoleViewer, func(c *call) error {
			c.q.text("did")
			c.q.text("n")
			c.q.text("others")
			data, err := look(c)
			if err != nil {
				return err
			}
			c.render(c.ctx(), http.StatusOK, name, data)
			return nil
		}}
	}
	return []route{
		get("{$}", "overview", func(c *call) (any, error) { return c.status() }),
		get("groups", "groups", func(c *call) (any, error) { return c.groups() }),
		get("parked", "parked", (*call).parkedPage),
		get("dead", "dead", (*call).deadPage),
		get("delayed", "delayed", func(c *call) (any, error) { return c.delayed() }),
		get("messages", "messages", (*call).messagesPage),
		get("messages/{seq}", "message", func(c *call) (any, error) { return c.message() }),
		get("trace", "trace", (*call).tracePage),
		get("inboxes", "inboxes", (*call).inboxesPage),
		get("inboxes/consumer", "consumer", (*call).consumerPage),
		get("inboxes/parked/{no}", "inboxmessage", func(c *call) (any, error) { return c.inboxMessage() }),
		get("retention", "retention", (*call).retentionPage),
		get("audit", "audit", func(c *call) (any, error) { return c.audit() }),
	}
}

// also answers another request with the same parameters, but for those that page it.
func also[T any](c *call, look func(c *call) (T, error), query url.Values) (T, error) {
	other := *c
	other.q = newParams(query)
	return look(&other)
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

type parkedData struct {
	Failures list[failuresRow]
	Keys     list[keyRow]
	Records  list[heldRow]
}

// parkedPage shows what is parked by failure, by key, and, of a key or on request, by record.
func (c *call) parkedPage() (any, error) {
	query := c.pick("outbox", "group", "topic")
	keys, records := c.pick("after"), c.pick("key", "state")
	if err := c.q.done(); err != nil {
		return nil, err
	}
	var data parkedData
	var errs [3]error
	data.Failures, errs[0] = also(c, (*call).failures, query)
	data.Keys, errs[1] = also(c, (*call).parkedKeys, merged(query, keys))
	if len(records) > 0 {
		data.Records, errs[2] = also(c, (*call).parked, merged(query, records))
	}
	return data, cmp.Or(errs[:]...) // one alone: the text of another may be for the log only
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

type deadData struct {
	Failures list[failuresRow]
	Records  list[heldRow]
}

func (c *call) deadPage() (any, error) {
	query, more := c.pick("outbox", "group", "topic"), c.pick("key", "after")
	if err := c.q.done(); err != nil {
		return nil, err
	}
	var data deadData
	var errs [2]error
	data.Failures, errs[0] = also(c, (*call).failures, merged(query, url.Values{"dead": {"true"}}))
	data.Records, errs[1] = also(c, (*call).dead, merged(query, more))
	return data, cmp.Or(errs[:]...) // one alone: the text of another may be for the log only
}

// messagesPage searches only when it is asked to.
func (c *call) messagesPage() (any, error) {
	query := c.pick("outbox", "topic", "key", "type", "from", "to", "after", "oldest", "limit")
	if err := c.q.done(); err != nil {
		return nil, err
	}
	return also(c, (*call).messages, query)
}

type traceData struct {
	traceRow

	// Problem is why nothing was looked for.
	Problem string
}

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

type inboxesData struct {
	inboxRow

	Parked list[inboxMessageRow]
}

func (c *call) inboxesPage() (any, error) {
	query, after := c.pick("inbox"), c.pick("after")
	if err := c.q.done(); err != nil {
		return nil, err
	}
	var data inboxesData
	var errs [2]error
	data.inboxRow, errs[0] = also(c, (*call).inboxes, query)
	data.Parked, errs[1] = also(c, (*call).inboxParked, merged(query, after))
	return data, cmp.Or(errs[:]...) // one alone: the text of another may be for the log only
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
	Ranges  list[rangeRow]
	Inboxes []inboxRow
}

// retentionPage shows the ranges of an outbox that has some, and what each inbox forgets.
func (c *call) retentionPage() (any, error) {
	query := c.pick("outbox")
	if err := c.q.done(); err != nil {
		return nil, err
	}
	var data retentionData
	if len(c.d.cfg.Outboxes) > 0 {
		ranges, err := also(c, (*call).ranges, query)
		if err != nil && !errors.Is(err, errCapability) {
			return nil, err
		}
		data.Ranges = ranges
	}
	for _, name := range names(c.d.cfg.Inboxes) {
		row, err := also(c, (*call).inboxes, url.Values{"inbox": {name}})
		if err != nil {
			return nil, err
		}
		data.Inboxes = append(data.Inboxes, row)
	}
	return data, nil
}

// notice is the text about what a form has done. It is our own, since an address could hold
// any.
func notice(actions []action, q url.Values) string {
	n, err := strconv.Atoi(q.Get("n"))
	for _, a := range actions {
		if err == nil && n >= 0 && a.name == q.Get("did") {
			what := strings.ReplaceAll(a.name, ":", ", ")
			if !a.counts {
				return fmt.Sprintf("Done: %s.", what)
			}
			text := fmt.Sprintf("Done: %s. Changed: %d.", what, n)
			if others, err := strconv.Atoi(q.Get("others")); err == nil && others > 0 {
				text += fmt.Sprintf(" Of these %d came after the preview, which did not show them.", others)
			}
			return text
		}
	}
	return ""
}
