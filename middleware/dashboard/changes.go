package dashboard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/internal/storable"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// change is a requested change.
type change struct {
	Outbox    string    `json:"outbox,omitempty"`
	Inbox     string    `json:"inbox,omitempty"`
	Group     string    `json:"group,omitempty"`
	Consumer  string    `json:"consumer,omitempty"`
	Selection selection `json:"selection,omitzero"`
	// Picks are selections of one key or id each, which a form may have instead of Selection.
	Picks []selection `json:"-"`
	// First makes a form redrive only one record of the selection. Rest is then the whole
	// selection, which the next page offers.
	First bool   `json:"-"`
	Rest  string `json:"-"`
	// Topics are the topics to pause or resume.
	Topics []string `json:"topics,omitempty"`
	MaxLag float64  `json:"max_lag_seconds,omitempty"`

	Reason string `json:"reason,omitempty"`
	DryRun bool   `json:"dry_run,omitempty"`
	Token  string `json:"token,omitempty"`
}

// selection is admin.Selection; for an inbox, Topics is one topic.
type selection struct {
	Topic       string    `json:"topic,omitempty"`
	Key         string    `json:"key,omitempty"`
	ID          string    `json:"id,omitempty"`
	Topics      string    `json:"topics,omitempty"`
	Kind        string    `json:"kind,omitempty"`
	Fingerprint string    `json:"fingerprint,omitempty"`
	Before      time.Time `json:"before,omitzero"`
}

// filters reports whether it selects by a filter, not by a key or an id.
func (s selection) filters() bool { return s.Key == "" && s.ID == "" }

// changed is the answer: what was changed, or what would be, with the token that confirms it.
type changed struct {
	Action string `json:"action"`
	DryRun bool   `json:"dry_run"`
	Count  int    `json:"count"`
	// IDs are the first hundred ids.
	IDs []string `json:"ids"`
	// Keys is the number of keys of the records, and Oldest when the first of them was set aside.
	Keys   int       `json:"keys"`
	Oldest time.Time `json:"oldest,omitzero"`
	// Others is the number of changed records that the preview did not have, since they appeared
	// after it.
	Others int `json:"others,omitempty"`
	// Unread is the number of messages that a removed group has not read and will never send.
	Unread int64  `json:"unread,omitempty"`
	Token  string `json:"token,omitempty"`
}

const (
	// mostIDs bounds the ids of an answer.
	mostIDs = 100
	// mostReason bounds a reason, in bytes.
	mostReason = 2000
)

// perform performs a change. In a dry run it returns what it would do.
//
// A change of records needs the token of a preview, which identifies the request and the records
// found by the preview. If other records are found now, nothing is changed: an operator who has
// seen twelve records does not drop thirteen.
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
	if !ch.DryRun {
		defer c.d.sampler.expire()
	}
	if !a.counts {
		return c.performWhole(a, ch, by)
	}
	planned, err := c.each(a, order{ch, by, a.most, true})
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
	if strings.HasSuffix(a.name, ":skip") { // the records of the preview, whichever are the first by now
		if len(ch.Picks) > 0 && len(ch.Picks) == len(planned.IDs) {
			ch.Picks = slices.Clone(ch.Picks)
			for i, id := range planned.IDs {
				ch.Picks[i].ID = id
			}
		} else if planned.Count == 1 {
			ch.Selection.ID = planned.IDs[0]
		}
	}
	done, err := c.chunks(a, ch, by, planned.Count)
	if err != nil && done.Count > 0 {
		err = &partialError{done.Count, err}
	}
	what := answer(a, false, done, "")
	what.Others = others(planned, done)
	return what, err
}

// others returns how many of done are not in planned, or 0 if planned does not list all ids.
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

// performWhole performs a change of a group, which has no records to count.
func (c *call) performWhole(a action, ch change, by admin.By) (changed, error) {
	if ch.DryRun {
		return answer(a, true, admin.Changed{}, ""), nil
	}
	_, err := a.do(c, order{ch, by, 0, false})
	return answer(a, false, admin.Changed{}, ""), err
}

// chunks changes as many records as were planned and no more: records that fail again during the
// change are parked again, and it would never end.
func (c *call) chunks(a action, ch change, by admin.By, planned int) (done admin.Changed, err error) {
	chunk := a.chunk
	switch {
	case len(ch.Picks) > 0:
		return c.each(a, order{ch, by, a.most, false})
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

// each executes an order, once for each of its picks if it has some.
func (c *call) each(a action, o order) (all admin.Changed, err error) {
	if len(o.Picks) == 0 {
		return a.do(c, o)
	}
	for _, pick := range o.Picks {
		one := o
		one.Selection = pick
		part, err := a.do(c, one)
		all.Count += part.Count
		all.IDs = append(all.IDs, part.IDs...)
		all.Keys += part.Keys
		if all.Oldest.IsZero() || !part.Oldest.IsZero() && part.Oldest.Before(all.Oldest) {
			all.Oldest = part.Oldest
		}
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

func answer(a action, dry bool, what admin.Changed, token string) changed {
	ids := append([]string{}, what.IDs[:min(len(what.IDs), mostIDs)]...)
	shorten(reflect.ValueOf(ids))
	return changed{Action: a.name, DryRun: dry, Count: what.Count, IDs: ids, Keys: what.Keys, Oldest: what.Oldest, Unread: what.Unread, Token: token}
}

// token identifies the request and the records found. It is not a secret: a user who may request
// a preview may request the change. It is the same in every replica.
func (ch change) token(a action, found admin.Changed) string {
	ch.Reason, ch.DryRun, ch.Token = "", false, ""
	text, _ := json.Marshal(struct { // texts, numbers and times
		Action string
		Change change
		Picks  []selection
		Found  admin.Changed
	}{a.name, ch, ch.Picks, found})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// by returns the actor for the audit: the signed-in user, never a field of the request.
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

// action is a way to change something.
type action struct {
	// name is the name of the route, such as parked:redrive, and page the page to which a form
	// returns.
	name, page string
	role       Role
	// counts is set if it changes records, so that it needs a preview.
	counts bool
	// most is how many records a preview reads, chunk how many one transaction changes. Both are
	// 0 for actions without a limit: on the first record of a key, an id, or a group.
	most, chunk int
	// fields are the fields of a change that it uses, separated by spaces.
	fields string
	do     doing
}

const (
	outboxMost, outboxChunk = 100_000, 10_000
	inboxMost, inboxChunk   = 10_000, 1_000
)

// The fields that actions use, except the store, the reason and the token.
const (
	ofKey        = "selection.topic selection.key "
	ofID         = "selection.id "
	ofFilter     = "selection.topics selection.fingerprint selection.before "
	outboxFields = "group selection.kind " + ofKey + ofID + ofFilter
	inboxFields  = "consumer " + ofKey + ofID + ofFilter
)

// words are the texts that describe an action to users.
type words struct {
	// verb is the text of its button; done describes the completed action.
	verb, done string
	// effects describe what happens to the records, and to those behind them.
	effects []string
	// gone is set if the action loses the selected records.
	gone bool
}

// words returns the texts for a.
func (a action) words() words {
	kept := "The audit keeps who, when, why and the ids."
	again := words{"Redrive", "redriven", []string{
		"They are sent again, each with all its attempts.",
		"Records that wait behind them follow in the order of their key.",
		"What fails again is set aside again. Nothing is lost.",
	}, false}
	switch _, verb, _ := strings.Cut(a.name, ":"); verb {
	case "redrive":
		return again
	case "skip":
		return words{"Skip", "skipped", []string{
			"The first record of the key is dropped: it is never sent.",
			"The next one is due at once, and the others follow it in order.", kept,
		}, true}
	case "drop":
		return words{"Drop", "dropped", []string{
			"They are dropped, with their payloads: they are never sent, and replay does not find them.",
			"By a key, those that wait behind its first record are dropped along. By a cause, they are due at once.", kept,
		}, true}
	case "cancel":
		return words{"Cancel", "cancelled", []string{"The message is taken back: it is never sent.", kept}, true}
	case "pause":
		return words{"Pause", "The group was paused", []string{
			"Its relays stop sending these topics within a second. What is under way is finished.",
			"Nothing is lost: what waits is sent after Resume.", "Retention goes on: beyond a greatest lag the group loses history.",
		}, false}
	case "resume":
		return words{"Resume", "The group goes on", []string{"What waits is sent, in order."}, false}
	case "set-max-lag":
		return words{"Limit", "The greatest lag was set", []string{
			"A group that is further behind no longer holds history back: what retention drops then is lost to it.",
		}, false}
	case "remove":
		return words{"Remove", "of the removed group dropped", []string{
			"The position of the group is forgotten, and what it holds is dropped.",
			"It holds no history back any more. Its dead records and the audit stay.",
			"A relay that is started by the same name begins anew.",
		}, true}
	default:
		return words{verb, "changed", nil, false}
	}
}

// actions are all ways to change something.
func actions() []action {
	return []action{
		{"parked:redrive", "parked", RoleOperator, true, outboxMost, outboxChunk, outboxFields, inOutbox(redrive(false))},
		{"parked:skip", "parked", RoleOperator, true, 0, 0, "group " + ofKey, inOutbox(skip)},
		{"parked:drop", "parked", RoleAdmin, true, outboxMost, outboxChunk, outboxFields, inOutbox(drop(false))},
		{"dead:redrive", "dead", RoleOperator, true, outboxMost, outboxChunk, outboxFields, inOutbox(redrive(true))},
		{"dead:drop", "dead", RoleAdmin, true, outboxMost, outboxChunk, outboxFields, inOutbox(drop(true))},
		{"delayed:cancel", "delayed", RoleAdmin, true, 0, 0, ofID, inAble("delayed messages", cancelDelayed)},
		{"groups:pause", "groups", RoleOperator, false, 0, 0, "group topics", inAble("pauses", pause(admin.Manager.Pause))},
		{"groups:resume", "groups", RoleOperator, false, 0, 0, "group topics", inAble("pauses", pause(admin.Manager.Resume))},
		{"groups:set-max-lag", "groups", RoleAdmin, false, 0, 0, "group max_lag_seconds", inAble("groups that can be changed", setMaxLag)},
		{"groups:remove", "groups", RoleAdmin, true, 0, 0, "group", inAble("groups that can be changed", removeGroup)},
		{"inboxes/parked:redrive", "inboxes", RoleOperator, true, inboxMost, inboxChunk, inboxFields, inInbox(inboxRedrive)},
		{"inboxes/parked:skip", "inboxes", RoleOperator, true, 0, 0, "consumer " + ofKey, inInbox(inboxSkip)},
		{"inboxes/parked:drop", "inboxes", RoleAdmin, true, inboxMost, inboxChunk, inboxFields, inInbox(inboxDrop)},
	}
}

// ofInbox reports whether a changes an inbox.
func (a action) ofInbox() bool { return a.page == "inboxes" }

// heeds refuses a change with a field that a does not use: otherwise users would believe that it
// had an effect.
func (a action) heeds(ch change) error {
	heeded := append(strings.Fields(a.fields), "outbox")
	if a.ofInbox() {
		heeded[len(heeded)-1] = "inbox"
	}
	s := ch.Selection
	if len(ch.Picks) > 0 && (a.ofInbox() || !strings.Contains(a.fields, ofKey) || s != selection{}) {
		return wrong("pick", "", "is not a field of "+a.name)
	}
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
			return wrong(field.name, fmt.Sprint(field.value), "is not a field of "+a.name)
		}
	}
	return nil
}

// inStore returns ch with the name of its store, for forms that name none.
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

// readJSON reads a body strictly.
func (c *call) readJSON(v any) error {
	if kind := c.r.Header.Get("Content-Type"); !isJSON(kind) {
		return wrong("Content-Type", kind, "must be application/json")
	}
	dec := json.NewDecoder(c.body())
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return badBody(err)
	}
	if dec.More() {
		return &inputError{"the body must be one JSON object"}
	}
	return nil
}

func badBody(err error) error {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge
	}
	return &inputError{fmt.Sprintf("the body is not what belongs here: %.300v", err)}
}

// mostBody bounds a request.
const mostBody = 64 << 10

func (c *call) body() io.Reader { return http.MaxBytesReader(c.w, c.r.Body, mostBody) }

func isJSON(kind string) bool {
	parsed, _, err := mime.ParseMediaType(kind)
	return err == nil && parsed == "application/json"
}

// order is a change to execute or to preview.
type order struct {
	change

	by    admin.By
	limit int
	dry   bool
}

// doing executes an order in the store that it names.
type doing = func(c *call, o order) (admin.Changed, error)

// inOutbox returns a doing that calls do with the outbox that the order names.
func inOutbox(do func(context.Context, admin.Outbox, order) (admin.Changed, error)) doing {
	return func(c *call, o order) (admin.Changed, error) {
		c.q = newParams(map[string][]string{"outbox": {o.Outbox}})
		_, ob, err := c.outbox()
		if err != nil {
			return admin.Changed{}, err
		}
		return do(c.ctx(), ob, o)
	}
}

// inAble is inOutbox for an optional interface of outboxes. what describes it for the error.
func inAble[T any](what string, do func(context.Context, T, order) (admin.Changed, error)) doing {
	return inOutbox(func(ctx context.Context, ob admin.Outbox, o order) (admin.Changed, error) {
		store, err := able[T](ob, what)
		if err != nil {
			return admin.Changed{}, err
		}
		return do(ctx, store, o)
	})
}

// inInbox returns a doing that calls do with the inbox that the order names.
func inInbox(do func(context.Context, inboxadmin.Inbox, order) (admin.Changed, error)) doing {
	return func(c *call, o order) (admin.Changed, error) {
		c.q = newParams(map[string][]string{"inbox": {o.Inbox}})
		_, in, err := c.inbox()
		if err != nil {
			return admin.Changed{}, err
		}
		return do(c.ctx(), in, o)
	}
}

func (o order) ofOutbox(dead bool) admin.Selection {
	s := o.Selection
	return admin.Selection{
		Topic: s.Topic, Key: s.Key, ID: s.ID, Topics: s.Topics, Kind: s.Kind, Fingerprint: s.Fingerprint, Before: s.Before, Dead: dead, Limit: o.limit,
	}
}

func (o order) ofInbox() inboxadmin.Selection {
	s := o.Selection
	return inboxadmin.Selection{Topic: s.Topic, Key: s.Key, ID: s.ID, OfTopic: s.Topics, Fingerprint: s.Fingerprint, Before: s.Before, Limit: o.limit}
}

func redrive(dead bool) func(context.Context, admin.Outbox, order) (admin.Changed, error) {
	return func(ctx context.Context, ob admin.Outbox, o order) (admin.Changed, error) {
		return ob.Redrive(ctx, admin.ChangeRequest{By: o.by, Selection: o.ofOutbox(dead), Group: o.Group, DryRun: o.dry})
	}
}

func drop(dead bool) func(context.Context, admin.Outbox, order) (admin.Changed, error) {
	return func(ctx context.Context, ob admin.Outbox, o order) (admin.Changed, error) {
		return ob.Drop(ctx, admin.ChangeRequest{By: o.by, Selection: o.ofOutbox(dead), Group: o.Group, DryRun: o.dry})
	}
}

func skip(ctx context.Context, ob admin.Outbox, o order) (admin.Changed, error) {
	key := driver.Key{Topic: o.Selection.Topic, Key: o.Selection.Key}
	return ob.SkipHead(ctx, admin.SkipHeadRequest{By: o.by, Group: o.Group, Key: key, ID: o.Selection.ID, DryRun: o.dry})
}

func cancelDelayed(ctx context.Context, scheduler admin.Manager, o order) (admin.Changed, error) {
	return scheduler.CancelDelayed(ctx, admin.CancelRequest{By: o.by, ID: o.Selection.ID, DryRun: o.dry})
}

func pause(do func(admin.Manager, context.Context, admin.PauseRequest) error) func(context.Context, admin.Manager, order) (admin.Changed, error) {
	return func(ctx context.Context, pauser admin.Manager, o order) (admin.Changed, error) {
		return admin.Changed{}, do(pauser, ctx, admin.PauseRequest{By: o.by, Group: o.Group, Topics: o.Topics})
	}
}

// mostLag is the greatest limit of a lag, in seconds, which fits a time.Duration.
const mostLag = 1e9

func setMaxLag(ctx context.Context, manager admin.Manager, o order) (admin.Changed, error) {
	if o.MaxLag < 0 || o.MaxLag > mostLag {
		return admin.Changed{}, &inputError{"max_lag_seconds must be 0 to 1000000000"}
	}
	lag := time.Duration(o.MaxLag * float64(time.Second))
	return admin.Changed{}, manager.SetMaxLag(ctx, admin.MaxLagRequest{By: o.by, Group: o.Group, MaxLag: lag})
}

func removeGroup(ctx context.Context, manager admin.Manager, o order) (admin.Changed, error) {
	return manager.RemoveGroup(ctx, admin.GroupRequest{By: o.by, Group: o.Group, DryRun: o.dry})
}

func inboxRedrive(ctx context.Context, in inboxadmin.Inbox, o order) (admin.Changed, error) {
	return in.Redrive(ctx, inboxadmin.ChangeRequest{By: o.by, Selection: o.ofInbox(), Consumer: o.Consumer, DryRun: o.dry})
}

func inboxSkip(ctx context.Context, in inboxadmin.Inbox, o order) (admin.Changed, error) {
	return in.SkipHead(ctx, inboxadmin.SkipHeadRequest{By: o.by, Consumer: o.Consumer, Topic: o.Selection.Topic, Key: o.Selection.Key, DryRun: o.dry})
}

func inboxDrop(ctx context.Context, in inboxadmin.Inbox, o order) (admin.Changed, error) {
	return in.Drop(ctx, inboxadmin.ChangeRequest{By: o.by, Selection: o.ofInbox(), Consumer: o.Consumer, DryRun: o.dry})
}
