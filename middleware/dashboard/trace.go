package dashboard

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/outbox/admin"
)

// traceRow is everything known about the messages with an id.
type traceRow struct {
	ID        string        `json:"id"`
	Messages  []tracedRow   `json:"messages"`
	Delayed   []delayedRow  `json:"delayed"`
	Held      []heldRow     `json:"held"`
	Dead      []heldRow     `json:"dead"`
	Sightings []sightingRow `json:"sightings"`
	// Timeline holds all events with a time, the oldest first.
	Timeline []eventRow `json:"timeline"`
}

// tracedRow is a message of the log, with its progress in each group.
type tracedRow struct {
	recordRow

	Groups []groupTraceRow `json:"groups"`
}

type groupTraceRow struct {
	Group string `json:"group"`
	State string `json:"state"`
}

// Word returns the progress of a group.
func (g groupTraceRow) Word() string {
	words := map[string]string{"pending": "waits", "unknown": "not known", "held": "set aside", "filtered": "does not read it"}
	return cmp.Or(words[g.State], g.State)
}

// Tone returns the CSS class of the word.
func (g groupTraceRow) Tone() string {
	return cmp.Or(map[string]string{"sent": "good", "held": "bad", "dead": "bad", "dropped": "bad", "pending": "warn"}[g.State], "quiet")
}

// sightingRow is the record that one consumer has of the id.
type sightingRow struct {
	Inbox       string       `json:"inbox"`
	Consumer    string       `json:"consumer"`
	State       string       `json:"state"`
	ProcessedAt time.Time    `json:"processed_at,omitzero"`
	Attempts    int          `json:"attempts"`
	Errors      []failureRow `json:"errors"`
	Parked      []int64      `json:"parked,omitempty"`
}

// Tone returns the CSS class of the state.
func (s sightingRow) Tone() string {
	return cmp.Or(map[string]string{"processed": "good", "failing": "warn", "parked": "bad"}[s.State], "quiet")
}

// eventRow is an event of the timeline.
type eventRow struct {
	At    time.Time `json:"at"`
	Where string    `json:"where"`
	What  string    `json:"what"`
	Text  string    `json:"text,omitempty"`
}

// Tone returns the CSS class of an event.
func (e eventRow) Tone() string {
	switch {
	case strings.HasSuffix(e.What, " failed"):
		return "warn"
	case strings.HasPrefix(e.What, "park by"), strings.HasPrefix(e.What, "dead by"), strings.HasPrefix(e.What, "drop"), strings.HasPrefix(e.What, "skip"):
		return "bad"
	case e.What == "processed", strings.HasPrefix(e.What, "enqueued"):
		return "good"
	default:
		return ""
	}
}

// Title describes the event and its place.
func (e eventRow) Title() string {
	what, by, audited := strings.Cut(e.What, " by ")
	if audited {
		names := map[string]string{
			"park": "Parked", "dead": "Given up", "skip": "Skipped", "skip_head": "Skipped", "drop": "Dropped", "redrive": "Redriven",
		}
		return cmp.Or(names[what], what) + " in " + e.Where + ", by " + holder(by)
	}
	if e.Where == "outbox" {
		return strings.ToUpper(what[:1]) + what[1:]
	}
	return strings.ToUpper(what[:1]) + what[1:] + " in " + e.Where
}

// trace answers for an id. The id is a parameter and not part of the path, since it may be any
// text, such as "..".
func (c *call) trace() (traceRow, error) {
	q := admin.TraceQuery{ID: c.q.text("id"), Since: c.q.time("since")}
	name, _, err := c.outbox()
	if err != nil {
		return traceRow{}, err
	}
	if err := c.q.done(); err != nil {
		return traceRow{}, err
	}
	return c.traceOf(name, q)
}

func (c *call) traceOf(name string, q admin.TraceQuery) (traceRow, error) {
	row := traceRow{
		ID: q.ID, Messages: []tracedRow{}, Delayed: []delayedRow{}, Held: []heldRow{}, Dead: []heldRow{},
		Sightings: []sightingRow{}, Timeline: []eventRow{},
	}
	searcher, err := able[admin.Manager](c.d.cfg.Outboxes[name], "log that can be searched")
	if err != nil {
		return row, err
	}
	t, err := searcher.Trace(c.ctx(), q)
	if err != nil {
		return row, err
	}
	row.Messages = listOf(c, t.Messages, 0, func(m admin.TracedMessage) tracedRow {
		traced := tracedRow{recordRow: recordOf(m.Record), Groups: []groupTraceRow{}}
		for _, g := range m.Groups {
			traced.Groups = append(traced.Groups, groupTraceRow{g.Group, string(g.State)})
		}
		return traced
	}, nil).Items
	row.Delayed = listOf(c, t.Delayed, 0, delayedOf, nil).Items
	row.Held = listOf(c, t.Held, 0, heldOf, nil).Items
	row.Dead = listOf(c, t.Dead, 0, heldOf, nil).Items
	if err := c.sightings(&row, q.ID); err != nil {
		return row, err
	}
	row.timeline(c, t.Audit)
	return row, nil
}

// sightings asks all inboxes about the id.
func (c *call) sightings(row *traceRow, id string) error {
	sightings := list[sightingRow]{Items: row.Sightings}
	for _, name := range slices.Sorted(maps.Keys(c.d.cfg.Inboxes)) {
		found, err := c.d.cfg.Inboxes[name].Lookup(c.ctx(), inboxadmin.LookupQuery{ID: id})
		if err != nil && !errors.Is(err, inboxadmin.ErrUnknownConsumer) {
			return err
		}
		for _, s := range found {
			if s.State == inboxadmin.NotSeen {
				continue
			}
			sightings.add(c, sightingRow{
				name, s.Consumer, string(s.State), s.ProcessedAt, s.History.Attempts, attemptErrors(s.History), s.Parked,
			})
		}
	}
	row.Sightings = sightings.Items
	return nil
}

// timeline collects all events with a time.
func (row *traceRow) timeline(c *call, audit []admin.AuditEntry) {
	var events list[eventRow]
	add := func(at time.Time, where, what, text string) {
		if !at.IsZero() {
			events.add(c, eventRow{at.UTC(), where, what, text})
		}
	}
	for _, m := range row.Messages {
		add(m.CreatedAt, "outbox", "enqueued", m.Topic+" / "+m.Key)
	}
	for _, m := range row.Delayed {
		add(m.CreatedAt, "outbox", "enqueued, to be sent later", "not before "+m.NotBefore.Format(time.RFC3339))
	}
	for _, h := range slices.Concat(row.Held, row.Dead) {
		for _, f := range h.Errors {
			add(f.At, "group "+h.Group, "delivery failed", f.Error)
		}
	}
	for _, e := range audit {
		add(e.At, "group "+e.Group, e.Action+" by "+e.Actor, e.Reason)
	}
	for _, s := range row.Sightings {
		for _, e := range s.Errors {
			add(e.At, s.Inbox+" / "+s.Consumer, "handler failed", e.Error)
		}
		add(s.ProcessedAt, s.Inbox+" / "+s.Consumer, "processed", "")
	}
	row.Timeline = append(row.Timeline, events.Items...)
	slices.SortStableFunc(row.Timeline, func(a, b eventRow) int { return a.At.Compare(b.At) })
}
