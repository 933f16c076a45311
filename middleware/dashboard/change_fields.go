package dashboard

import (
	"fmt"
	"slices"
	"strings"
)

// ofInbox reports whether a changes an inbox.
func (a action) ofInbox() bool { return a.page == "inboxes" }

// heeds refuses a change with a field that a does nothing with: what is shown, and not done,
// would be taken for done.
func (a action) heeds(ch change) error {
	heeded := append(strings.Fields(a.fields), "outbox")
	if a.ofInbox() {
		heeded[len(heeded)-1] = "inbox"
	}
	s := ch.Selection
	for _, field := range []struct {
		name  string
		value any
		set   bool
	}{
		{"outbox", ch.Outbox, ch.Outbox != ""},
		{"inbox", ch.Inbox, ch.Inbox != ""},
		{"group", ch.Group, ch.Group != ""},
		{"consumer", ch.Consumer, ch.Consumer != ""},
		{"selection.topic", s.Topic, s.Topic != ""},
		{"selection.key", s.Key, s.Key != ""},
		{"selection.id", s.ID, s.ID != ""},
		{"selection.topics", s.Topics, s.Topics != ""},
		{"selection.kind", s.Kind, s.Kind != ""},
		{"selection.fingerprint", s.Fingerprint, s.Fingerprint != ""},
		{"selection.before", s.Before, !s.Before.IsZero()},
		{"topics", ch.Topics, len(ch.Topics) > 0},
		{"max_lag_seconds", ch.MaxLag, ch.MaxLag != 0},
	} {
		if field.set && !slices.Contains(heeded, field.name) {
			return wrong(field.name, fmt.Sprint(field.value), "is no field of "+a.name)
		}
	}
	return nil
}

// inStore returns ch with the name of the store that it is about, for forms that name none.
func (c *call) inStore(a action, ch change) (change, error) {
	var err error
	if a.ofInbox() {
		c.q = newParams(map[string][]string{"inbox": {ch.Inbox}})
		ch.Inbox, _, err = c.inbox()
	} else {
		c.q = newParams(map[string][]string{"outbox": {ch.Outbox}})
		ch.Outbox, _, err = c.outbox()
	}
	return ch, err
}
