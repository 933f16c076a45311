package dashboard

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/storable"
	"github.com/leat-go/leat/outbox/admin"
)

// change is what a request asks to change.
type change struct {
	Outbox    string    `json:"outbox,omitempty"`
	Inbox     string    `json:"inbox,omitempty"`
	Group     string    `json:"group,omitempty"`
	Consumer  string    `json:"consumer,omitempty"`
	Selection selection `json:"selection,omitzero"`
	// Topics are those that are paused or resumed.
	Topics []string `json:"topics,omitempty"`
	MaxLag float64  `json:"max_lag_seconds,omitempty"`

	Reason string `json:"reason,omitempty"`
	DryRun bool   `json:"dry_run,omitempty"`
	Token  string `json:"token,omitempty"`
}

// selection is admin.Selection; of an inbox, Topics is one topic.
type selection struct {
	Topic       string    `json:"topic,omitempty"`
	Key         string    `json:"key,omitempty"`
	ID          string    `json:"id,omitempty"`
	Topics      string    `json:"topics,omitempty"`
	Kind        string    `json:"kind,omitempty"`
	Fingerprint string    `json:"fingerprint,omitempty"`
	Before      time.Time `json:"before,omitzero"`
}

// filters reports whether it selects by what records have in common.
func (s selection) filters() bool { return s.Key == "" && s.ID == "" }

// changed is the answer: what was changed, or what would be, with the token that lets it be.
type changed struct {
	Action string `json:"action"`
	DryRun bool   `json:"dry_run"`
	Count  int    `json:"count"`
	// IDs are the first hundred ids.
	IDs []string `json:"ids"`
	// Keys is how many keys the records have, Oldest when the first of them was set aside.
	Keys   int       `json:"keys"`
	Oldest time.Time `json:"oldest,omitzero"`
	// Others is how many of those that were changed the preview did not have: they came
	// between the two.
	Others int    `json:"others,omitempty"`
	Token  string `json:"token,omitempty"`
}

const (
	// mostIDs bounds the ids of an answer.
	mostIDs = 100
	// mostReason bounds a reason, in bytes.
	mostReason = 2000
)

// perform does what is asked. In a dry run it returns what it would do.
//
// A change of records needs the token of a preview, which names what was asked for and what
// the preview has found. If something else is found now, nothing is changed: an operator who
// has seen twelve records does not drop thirteen.
func (c *call) perform(a action, ch change) (changed, error) {
	if err := a.heeds(ch); err != nil {
		return changed{}, err
	}
	if len(ch.Reason) > mostReason {
		return changed{}, wrong("reason", ch.Reason, "must be at most 2000 bytes")
	}
	by := c.by(ch.Reason)
	if ch.DryRun && ch.Reason == "" {
		by.Reason = "preview"
	}
	if err := admin.Complete(&by); err != nil {
		return changed{}, err
	}
	if !a.counts {
		return c.performWhole(a, ch, by)
	}
	planned, err := a.do(c, order{ch, by, a.most, true})
	if err != nil {
		return changed{}, err
	}
	token := ch.token(a, planned)
	switch {
	case ch.DryRun:
		return answer(a, true, planned, token), nil
	case ch.Token == "":
		return changed{}, errNoPreview
	case ch.Token != token:
		return changed{}, fmt.Errorf("%w: it is %d now: look again", errChanged, planned.Count)
	}
	if strings.HasSuffix(a.name, ":skip") && planned.Count == 1 {
		ch.Selection.ID = planned.IDs[0] // the record of the preview, whichever is the first by now
	}
	done, err := c.chunks(a, ch, by, planned.Count)
	if err != nil && done.Count > 0 {
		err = &partialError{done.Count, err}
	}
	what := answer(a, false, done, "")
	what.Others = others(planned, done)
	return what, err
}

// others is how many of done are not in planned, 0 if planned does not have all ids.
func others(planned, done admin.Changed) (n int) {
	if len(planned.IDs) < planned.Count {
		return 0
	}
	known := make(map[string]bool, len(planned.IDs))
	for _, id := range planned.IDs {
		known[id] = true
	}
	for _, id := range done.IDs {
		if !known[id] {
			n++
		}
	}
	return n
}

// performWhole does what is about a group, and has no records to count.
func (c *call) performWhole(a action, ch change, by admin.By) (changed, error) {
	if ch.DryRun {
		return answer(a, true, admin.Changed{}, ""), nil
	}
	_, err := a.do(c, order{ch, by, 0, false})
	return answer(a, false, admin.Changed{}, ""), err
}

// chunks changes as many as were planned and no more: what fails again meanwhile is parked
// again, and would be changed without an end.
func (c *call) chunks(a action, ch change, by admin.By, planned int) (done admin.Changed, err error) {
	chunk := a.chunk
	switch {
	case chunk == 0:
		return a.do(c, order{ch, by, 0, false})
	case !ch.Selection.filters():
		chunk = a.most // a key or an id is changed in one transaction
	}
	for done.Count < planned {
		part, err := a.do(c, order{ch, by, min(chunk, planned-done.Count), false})
		done.Count += part.Count
		done.IDs = append(done.IDs, part.IDs...)
		if err != nil || part.Count == 0 {
			return done, err
		}
	}
	return done, nil
}

func answer(a action, dry bool, what admin.Changed, token string) changed {
	ids := append([]string{}, what.IDs[:min(len(what.IDs), mostIDs)]...)
	shorten(reflect.ValueOf(ids))
	return changed{Action: a.name, DryRun: dry, Count: what.Count, IDs: ids, Keys: what.Keys, Oldest: what.Oldest, Token: token}
}

// token names what was asked for and what was found. It is no secret: who may ask for a
// preview may ask for the change. So it is the same in every replica.
func (ch change) token(a action, found admin.Changed) string {
	ch.Reason, ch.DryRun, ch.Token = "", false, ""
	text, _ := json.Marshal(struct { // texts, numbers and times
		Action string
		Change change
		Found  admin.Changed
	}{a.name, ch, found})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// by is who asks: who has signed in, and never a field of the request.
func (c *call) by(reason string) admin.By {
	details := map[string]string{"via": "dashboard", "address": c.r.RemoteAddr}
	if c.who.Mode != "" {
		details["mode"] = c.who.Mode
	}
	for name, text := range details {
		details[name] = storable.AtMost(text, 500)
	}
	return admin.By{Actor: c.who.Actor, Reason: reason, Details: details}
}
