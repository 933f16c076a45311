package outboxtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// seen is everything that an operator sees.
type seen struct {
	Held, Dead []admin.HeldRecord
	Audit      []admin.AuditEntry
}

func (s *setAside) look(ctx context.Context) (all seen) {
	var errs [3]error
	all.Held, errs[0] = s.op.Held(ctx, admin.HeldQuery{})
	all.Dead, errs[1] = s.op.Dead(ctx, admin.HeldQuery{})
	all.Audit, errs[2] = s.op.Audit(ctx, admin.AuditQuery{})
	fail.IfAny(errs[:]...)
	return all
}

// ids returns the ids of records that are set aside, by payload.
func (s *setAside) ids(ctx context.Context) map[string]string {
	all, ids := s.look(ctx), make(map[string]string)
	for _, h := range append(all.Held, all.Dead...) {
		ids[string(h.Payload)] = h.ID
	}
	return ids
}

// change asks for one of three changes.
func (s *setAside) change(ctx context.Context, what string, sel admin.Selection, dry bool) (admin.Changed, error) {
	switch what {
	case "redrive":
		return s.op.Redrive(ctx, admin.ChangeRequest{By: by(), Selection: sel, DryRun: dry})
	case "drop":
		return s.op.Drop(ctx, admin.ChangeRequest{By: by(), Selection: sel, DryRun: dry})
	default:
		return s.op.SkipHead(ctx, admin.SkipHeadRequest{By: by(), Key: testKey(sel.Key), DryRun: dry})
	}
}

func dryRunChangesNothing(ctx context.Context, tr *trial) {
	s := ward(ctx, tr)
	all := s.look(ctx)
	ids := make(map[string]string)
	for _, h := range append(all.Held, all.Dead...) {
		ids[string(h.Payload)] = h.ID
	}
	for _, c := range []struct {
		what string
		sel  admin.Selection
		want string
	}{
		{"skip", admin.Selection{Topic: testTopic, Key: "k"}, "a"},
		{"drop", admin.Selection{ID: ids["f"]}, "f"},
		{"redrive", admin.Selection{Dead: true, Kind: "permanent"}, "g"},
		{"drop", admin.Selection{Topics: "ord*"}, "c"},
	} {
		fail.In(fmt.Sprintf("%s of %s", c.what, c.want), func() { s.tryThenChange(ctx, c.what, c.sel, ids[c.want]) })
	}
}

// tryThenChange expects a dry run to change nothing, and the change that follows to affect the one record that it named.
func (s *setAside) tryThenChange(ctx context.Context, what string, sel admin.Selection, id string) {
	before := s.look(ctx)
	dry, err := s.change(ctx, what, sel, true)
	fail.If(err, "dry run")
	after := s.look(ctx)
	if !reflect.DeepEqual(before, after) {
		fail.With("dry run: %+v has become %+v", before, after)
	}
	for _, h := range append(before.Held, before.Dead...) {
		keys := min(len(h.Key), 1)
		if h.ID == id && (dry.Keys != keys || !dry.Oldest.Equal(h.Since)) {
			fail.With("dry run: %d keys since %s, want %d since %s", dry.Keys, dry.Oldest, keys, h.Since)
		}
	}
	done, err := s.change(ctx, what, sel, false)
	fail.If(err)
	if !reflect.DeepEqual(dry, done) || !slices.Equal(done.IDs, []string{id}) || done.Count != 1 {
		fail.With("%+v, and %+v in the dry run, want record %s", done, dry, id)
	}
}

func badRequestsAreRefused(ctx context.Context, tr *trial) {
	s := ward(ctx, tr)
	redrive := func(by admin.By, sel admin.Selection) error {
		_, err := s.op.Redrive(ctx, admin.ChangeRequest{By: by, Selection: sel})
		return err
	}
	skip := func(by admin.By, key string) error {
		_, err := s.op.SkipHead(ctx, admin.SkipHeadRequest{By: by, Key: testKey(key)})
		return err
	}
	look := func(_ any, err error) error { return err }
	key := admin.Selection{Topic: testTopic, Key: "k"}
	for _, c := range []struct {
		what string
		err  error
		want error
	}{
		{"redrive without an actor", redrive(admin.By{Reason: "r"}, key), admin.ErrInvalidRequest},
		{"redrive without a reason", redrive(admin.By{Actor: "a"}, key), admin.ErrInvalidRequest},
		{"redrive of nothing", redrive(by(), admin.Selection{}), admin.ErrInvalidRequest},
		{"redrive in two ways", redrive(by(), admin.Selection{ID: "x", Kind: "unknown"}), admin.ErrInvalidRequest},
		{"redrive of a kind that there is not", redrive(by(), admin.Selection{Kind: "typo"}), admin.ErrInvalidRequest},
		{"redrive of no text", redrive(by(), admin.Selection{ID: "\xff"}), admin.ErrInvalidRequest},
		{"redrive of a key that is not held", redrive(by(), admin.Selection{Topic: testTopic, Key: "none"}), admin.ErrNotParked},
		{"redrive of an id that is not held", redrive(by(), admin.Selection{ID: "none"}), admin.ErrNotParked},
		{"redrive by a filter that matches nothing", redrive(by(), admin.Selection{Topics: "none*"}), nil},
		{"skip of a key that is not held", skip(by(), "none"), admin.ErrNotParked},
		{"skip of no key", skip(by(), ""), admin.ErrInvalidRequest},
		{"held of a state that there is not", look(s.op.Held(ctx, admin.HeldQuery{State: "lost"})), admin.ErrInvalidRequest},
		{"held without end", look(s.op.Held(ctx, admin.HeldQuery{Limit: 1_000_000})), admin.ErrInvalidRequest},
		{"dead without end", look(s.op.Dead(ctx, admin.HeldQuery{Limit: -1})), admin.ErrInvalidRequest},
		{"keys without end", look(s.op.ParkedKeys(ctx, admin.KeysQuery{Limit: -1})), admin.ErrInvalidRequest},
		{"failures without end", look(s.op.Failures(ctx, admin.FailuresQuery{Limit: -1})), admin.ErrInvalidRequest},
		{"audit without end", look(s.op.Audit(ctx, admin.AuditQuery{Limit: -1})), admin.ErrInvalidRequest},
		{"members of a group that there is not", look(s.op.Members(ctx, "none")), admin.ErrNoSuchGroup},
	} {
		expectError(c.what, c.err, c.want)
	}
	all, err := s.op.Held(ctx, admin.HeldQuery{State: admin.HeldParked})
	fail.If(err)
	expect(recordsIn(all), "a", "b", "c", "f")
}

func changesAreAudited(ctx context.Context, tr *trial) {
	s := ward(ctx, tr)
	began, err := s.op.Audit(ctx, admin.AuditQuery{})
	fail.If(err, "audit")
	sel := func(key string) admin.Selection { return admin.Selection{Topic: testTopic, Key: key} }
	_, err = s.op.Redrive(ctx, admin.ChangeRequest{By: by(), Selection: sel("l")})
	fail.If(err)
	_, err = s.op.SkipHead(ctx, admin.SkipHeadRequest{By: by(), Key: testKey("k")})
	fail.If(err)
	_, err = s.op.Drop(ctx, admin.ChangeRequest{By: by(), Selection: admin.Selection{Dead: true, Kind: "permanent"}})
	fail.If(err)
	all := s.wholeAudit(ctx)
	if len(all) != len(began)+3 {
		fail.With("audit: %d entries, want 3 more than %d: %+v", len(all), len(began), all)
	}
	for i, want := range []string{"redrive l", "skip_head k", "drop o"} {
		e := all[len(began)+i]
		if got := e.Action + " " + e.Key; got != want || e.Actor != by().Actor || e.Reason != by().Reason || e.Group != testGroup ||
			e.Topic != testTopic || e.Seq == 0 || e.ID == "" || e.At.IsZero() {
			fail.With("audit: %+v, want %s", e, want)
		}
	}
	s.auditNewestFirst(ctx, all)
	s.auditIsSelected(ctx, all[len(began)+1].ID)
}

// wholeAudit pages through the audit, which must ascend.
func (s *setAside) wholeAudit(ctx context.Context) (all []admin.AuditEntry) {
	for q := (admin.AuditQuery{Limit: 2}); ; {
		page, err := s.op.Audit(ctx, q)
		fail.If(err, "audit")
		for _, e := range page {
			if e.No <= q.After {
				fail.With("audit: %d stands behind %d", e.No, q.After)
			}
			q.After = e.No
		}
		all = append(all, page...)
		if len(page) < q.Limit {
			return all
		}
	}
}

// auditNewestFirst expects all in reverse, in two pages.
func (s *setAside) auditNewestFirst(ctx context.Context, all []admin.AuditEntry) {
	newest, err := s.op.Audit(ctx, admin.AuditQuery{Newest: true, Limit: 2})
	if err == nil && len(newest) == 2 {
		var rest []admin.AuditEntry
		rest, err = s.op.Audit(ctx, admin.AuditQuery{Newest: true, After: newest[1].No})
		newest = append(newest, rest...)
	}
	slices.Reverse(newest)
	if err != nil || !slices.EqualFunc(newest, all, func(a, b admin.AuditEntry) bool { return a.No == b.No }) {
		fail.With("audit, the newest first: %d entries, want %d in reverse: %w", len(newest), len(all), errors.Join(err, errWrongAnswer))
	}
}

// auditIsSelected expects that each selection finds only the entry about the skip of record id.
func (s *setAside) auditIsSelected(ctx context.Context, id string) {
	for _, q := range []admin.AuditQuery{
		{Action: "skip_head"}, {Key: "k", Group: testGroup, Topic: testTopic, Action: "skip_head"}, {ID: id, Action: "skip_head"},
	} {
		some, err := s.op.Audit(ctx, q)
		if err != nil || len(some) != 1 || some[0].Action != "skip_head" {
			fail.With("audit %+v: %+v: %w", q, some, errors.Join(err, errWrongAnswer))
		}
	}
	none, err := s.op.Audit(ctx, admin.AuditQuery{Since: time.Now().Add(time.Hour)})
	if err != nil || len(none) > 0 {
		fail.With("audit since an hour from now: %d entries: %w", len(none), errors.Join(err, errWrongAnswer))
	}
}

// byDetails is by with everything that can be known about the requester.
func byDetails() admin.By {
	b := by()
	b.Details = map[string]string{"address": "192.0.2.7", "mode": `basic "é\` + "\n", "empty": ""}
	return b
}

// auditKeepsWhoAsked makes every possible change, and checks that the audit has all details of
// the requester.
func auditKeepsWhoAsked(ctx context.Context, tr *trial) {
	s := ward(ctx, tr)
	held := func(key string) admin.Selection { return admin.Selection{Topic: testTopic, Key: key} }
	dead := held("o")
	dead.Dead = true
	_, err1 := s.op.Redrive(ctx, admin.ChangeRequest{By: byDetails(), Selection: held("l")})
	_, err2 := s.op.SkipHead(ctx, admin.SkipHeadRequest{By: byDetails(), Key: testKey("k")})
	_, err3 := s.op.Drop(ctx, admin.ChangeRequest{By: byDetails(), Selection: admin.Selection{Topics: testTopic, Kind: "permanent"}})
	_, err4 := s.op.Redrive(ctx, admin.ChangeRequest{By: byDetails(), Selection: dead})
	fail.IfAny(err1, err2, err3, err4)
	more := changeMore(ctx, tr)
	s.longDetailsAreRefused(ctx)
	entries := s.wholeAudit(ctx)
	found := 0
	for _, e := range entries {
		if e.Actor != by().Actor {
			continue // made by a relay
		}
		found++
		var details struct {
			By map[string]string `json:"by"`
		}
		if err := json.Unmarshal(e.Details, &details); err != nil || !maps.Equal(details.By, byDetails().Details) {
			fail.With("audit: %s: details %s: want %q of who asked: %w", e.Action, e.Details, byDetails().Details, errors.Join(err, errWrongAnswer))
		}
	}
	if want := 4 + more; found != want {
		fail.With("audit: %d entries of the operator, want %d", found, want)
	}
}

// changeMore makes the changes that only some stores support, and returns their number.
func changeMore(ctx context.Context, tr *trial) (changes int) {
	manager, ok := tr.Subject.(admin.Manager)
	if !ok {
		return 0
	}
	pause := admin.PauseRequest{By: byDetails(), Group: testGroup, Topics: []string{"none"}}
	fail.IfAny(manager.SetMaxLag(ctx, admin.MaxLagRequest{By: byDetails(), Group: testGroup, MaxLag: time.Hour}),
		manager.Pause(ctx, pause), manager.Resume(ctx, pause))
	if tr.features.NoDelay {
		return 3
	}
	msgs := keyed("k", "later")
	msgs[0].ID, msgs[0].NotBefore = "later", time.Now().Add(24*time.Hour)
	tr.commit(ctx, msgs...)
	_, err := manager.CancelDelayed(ctx, admin.CancelRequest{By: byDetails(), ID: "later"})
	fail.If(err)
	return 4
}

// longDetailsAreRefused makes requests with details that cannot be stored.
func (s *setAside) longDetailsAreRefused(ctx context.Context) {
	many := map[string]string{}
	for i := range 21 {
		many[strconv.Itoa(i)] = ""
	}
	for what, details := range map[string]map[string]string{
		"too many": many, "a long text": {"a": strings.Repeat("x", 1001)}, "a long name": {strings.Repeat("x", 101): ""},
		"no name": {"": "x"}, "no text": {"a": "\xff"}, "a NUL": {"a\x00": ""},
	} {
		request := admin.ChangeRequest{By: byDetails(), Selection: admin.Selection{Topics: "none"}}
		request.Details = details
		_, err := s.op.Redrive(ctx, request)
		expectError("details with "+what, err, admin.ErrInvalidRequest)
	}
}

func groupsAreSeen(ctx context.Context, tr *trial) {
	s := ward(ctx, tr)
	groups, err := s.op.Groups(ctx)
	fail.If(err, "groups")
	i := slices.IndexFunc(groups, func(g admin.Group) bool { return g.Name == testGroup })
	if i < 0 || groups[i].Slots != 1 || groups[i].Leases != 1 || groups[i].Relays != 1 {
		fail.With("groups: %+v, want %q with one slot that one relay leads", groups, testGroup)
	}
	members, err := s.op.Members(ctx, testGroup)
	if err != nil || len(members) != 1 || members[0].Name == "" || !slices.Equal(members[0].Slots, []int{0}) || members[0].Until.Before(time.Now()) {
		fail.With("members: %+v, want one that leads slot 0: %w", members, errors.Join(err, errWrongAnswer))
	}
	fail.If(s.Release(ctx))
	members, err = s.op.Members(ctx, testGroup)
	if err != nil || slices.ContainsFunc(members, func(m admin.Member) bool { return len(m.Slots) > 0 }) {
		fail.With("members after the release: %+v, want none that leads: %w", members, errors.Join(err, errWrongAnswer))
	}
}

func groupIsRemoved(ctx context.Context, tr *trial) {
	s := ward(ctx, tr)
	manager, ok := tr.Subject.(admin.Manager)
	if !ok {
		return
	}
	remove := func(group string, dry bool) (admin.Changed, error) {
		return manager.RemoveGroup(ctx, admin.GroupRequest{By: by(), Group: group, DryRun: dry})
	}
	refused := func(group string, want error) {
		for _, dry := range []bool{true, false} {
			_, err := remove(group, dry)
			expectError(fmt.Sprintf("remove of group %q, dry run %t", group, dry), err, want)
		}
	}
	refused(testGroup, admin.ErrGroupActive)
	refused("none", admin.ErrNoSuchGroup)
	refused("", admin.ErrInvalidRequest)
	_, err := manager.RemoveGroup(ctx, admin.GroupRequest{By: by(), Group: testGroup, Topics: []string{"a"}})
	expectError("remove of some topics of a group", err, admin.ErrInvalidRequest)
	fail.If(s.Release(ctx))
	tr.commit(ctx, named("j", "k")...)
	for _, dry := range []bool{true, false} {
		changed, err := remove(testGroup, dry)
		if err != nil || changed.Count != 6 || changed.Unread != 3 {
			fail.With("remove, dry run %t: %+v, want 6 held records and 3 unread messages: %w", dry, changed, errors.Join(err, errWrongAnswer))
		}
	}
	refused(testGroup, admin.ErrNoSuchGroup)
	tr.acquire(ctx).expectPage(ctx, 20, "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k")
}

// renamedGroupGoesOn renames a group that has set records aside, and renames it back.
func renamedGroupGoesOn(ctx context.Context, tr *trial) {
	const name, other = "renamed", "other"
	s := ward(ctx, tr)
	manager, ok := tr.Subject.(admin.Manager)
	if !ok {
		return
	}
	rename := func(group, name string, dry bool) (admin.Changed, error) {
		return manager.RenameGroup(ctx, admin.GroupRequest{By: by(), Group: group, Name: name, DryRun: dry})
	}
	refused := func(group, name string, want error) {
		for _, dry := range []bool{true, false} {
			_, err := rename(group, name, dry)
			expectError(fmt.Sprintf("rename of group %q to %q, dry run %t", group, name, dry), err, want)
		}
	}
	refused(testGroup, name, admin.ErrGroupActive)
	fail.If(s.Release(ctx))
	fail.If(acquireFrom(ctx, tr.Source(other)).Release(ctx))
	refused("none", name, admin.ErrNoSuchGroup)
	refused(testGroup, "", admin.ErrInvalidRequest)
	refused(testGroup, testGroup, admin.ErrInvalidRequest)
	refused(testGroup, other, admin.ErrInvalidRequest)
	tr.commit(ctx, named("j", "k")...)
	for _, dry := range []bool{true, false} {
		changed, err := rename(testGroup, name, dry)
		if err != nil || changed.Count != 6 || changed.Unread != 3 {
			fail.With("rename, dry run %t: %+v, want 6 held records and 3 unread messages: %w", dry, changed, errors.Join(err, errWrongAnswer))
		}
	}
	tr.expectRenamed(ctx, testGroup)
	if held, err := manager.Held(ctx, admin.HeldQuery{Group: name}); err != nil || len(held) != 6 {
		fail.With("held records of the renamed group: %d, want 6: %w", len(held), errors.Join(err, errWrongAnswer))
	}
	if dead, err := manager.Dead(ctx, admin.HeldQuery{Group: name}); err != nil || len(dead) != 1 {
		fail.With("dead records of the renamed group: %d, want 1: %w", len(dead), errors.Join(err, errWrongAnswer))
	}
	r := acquireFrom(ctx, tr.Source(name))
	fail.In("the renamed group", func() { r.expectDrain(ctx, 10, "i", "j", "k") })
	fail.If(r.Release(ctx))
	_, err := rename(name, testGroup, false)
	fail.If(err, "rename it back")
	tr.expectRenamed(ctx, name)
	tr.commit(ctx, named("l")...)
	fail.In("under its first name again", func() { tr.acquire(ctx).expectDrain(ctx, 10, "l") })
}

// expectRenamed expects that a group cannot begin under the former name of another.
func (tr *trial) expectRenamed(ctx context.Context, group string) {
	_, err := tr.Source(group).Acquire(ctx, longTTL)
	expectError("acquire of a group that has another name", err, driver.ErrSourceUnusable)
	expectError("acquire of a group that has another name", err, basis.ErrRenamed)
}

func greatestLagIsSet(ctx context.Context, tr *trial) {
	tr.holder(ctx)
	manager, ok := tr.Subject.(admin.Manager)
	if !ok {
		return
	}
	for _, c := range []struct {
		group     string
		lag, want time.Duration
		refused   error
	}{
		{testGroup, time.Hour, time.Hour, nil},
		{"none", time.Hour, time.Hour, admin.ErrNoSuchGroup},
		{testGroup, -1, time.Hour, admin.ErrInvalidRequest},
		{testGroup, 0, 0, nil},
	} {
		err := manager.SetMaxLag(ctx, admin.MaxLagRequest{By: by(), Group: c.group, MaxLag: c.lag})
		expectError(fmt.Sprintf("greatest lag %s of %q", c.lag, c.group), err, c.refused)
		groups, err := manager.Groups(ctx)
		if err != nil || len(groups) != 1 || groups[0].MaxLag != c.want {
			fail.With("groups: %+v, want a greatest lag of %s: %w", groups, c.want, errors.Join(err, errWrongAnswer))
		}
	}
}

func groupIsPaused(ctx context.Context, tr *trial) {
	s := ward(ctx, tr)
	pauser, ok := tr.Subject.(admin.Manager)
	if !ok {
		return
	}
	src, ok := tr.Source(testGroup).(driver.Pausable)
	if !ok {
		fail.Now(errNotPausable)
	}
	for i, c := range []struct {
		change  func(context.Context, admin.PauseRequest) error
		request admin.PauseRequest
		want    []string
		refused error
	}{
		{pauser.Resume, admin.PauseRequest{By: by(), Group: testGroup}, nil, nil},
		{pauser.Pause, admin.PauseRequest{By: by(), Group: testGroup, Topics: []string{"mails.*", "events"}}, []string{"events", "mails.*"}, nil},
		{pauser.Pause, admin.PauseRequest{By: by(), Group: testGroup, Topics: []string{"events"}}, []string{"events", "mails.*"}, nil},
		{pauser.Resume, admin.PauseRequest{By: by(), Group: testGroup, Topics: []string{"mails.*"}}, []string{"events"}, nil},
		{pauser.Resume, admin.PauseRequest{By: by(), Group: testGroup, Topics: []string{"mails.*"}}, []string{"events"}, admin.ErrInvalidRequest},
		{pauser.Pause, admin.PauseRequest{By: by(), Group: testGroup}, []string{"*", "events"}, nil},
		{pauser.Pause, admin.PauseRequest{By: by(), Group: "none"}, []string{"*", "events"}, admin.ErrNoSuchGroup},
		{pauser.Resume, admin.PauseRequest{By: by(), Group: "none", Topics: []string{"events"}}, []string{"*", "events"}, admin.ErrNoSuchGroup},
		{pauser.Pause, admin.PauseRequest{Group: testGroup}, []string{"*", "events"}, admin.ErrInvalidRequest},
		{pauser.Pause, admin.PauseRequest{By: by()}, []string{"*", "events"}, admin.ErrInvalidRequest},
		{pauser.Pause, admin.PauseRequest{By: by(), Group: testGroup, Topics: []string{""}}, []string{"*", "events"}, admin.ErrInvalidRequest},
		{pauser.Resume, admin.PauseRequest{By: by(), Group: testGroup}, nil, nil},
	} {
		expectError(fmt.Sprintf("change %d: %+v", i, c.request), c.change(ctx, c.request), c.refused)
		paused, err := src.Paused(ctx)
		if err != nil || !slices.Equal(paused, c.want) {
			fail.With("change %d: %q are paused, want %q: %w", i, paused, c.want, errors.Join(err, errWrongAnswer))
		}
		groups, err := pauser.Groups(ctx)
		if err != nil || len(groups) != 1 || !slices.Equal(groups[0].Paused, c.want) {
			fail.With("change %d: groups %+v, want %q paused: %w", i, groups, c.want, errors.Join(err, errWrongAnswer))
		}
	}
	entries, err := pauser.Audit(ctx, admin.AuditQuery{Action: "pause"})
	if err != nil || len(entries) != 3 {
		fail.With("audit: %+v, want 3 pauses: %w", entries, errors.Join(err, errWrongAnswer))
	}
	s.reader.expectPage(ctx, 10, "i") // a session reads on: only the relay pauses
}

var errNotPausable = errors.New("the outbox is an admin.Manager, and its source no driver.Pausable")

func delayedIsCancelled(ctx context.Context, tr *trial) {
	scheduler, ok := tr.Subject.(admin.Manager)
	if !ok {
		return
	}
	due := time.Now().Add(24 * time.Hour).Truncate(time.Second)
	msgs := keyed("k", "c", "a", "b")
	for i, after := range []time.Duration{3 * time.Hour, time.Hour, 2 * time.Hour} {
		msgs[i].ID, msgs[i].NotBefore = "late "+string(msgs[i].Payload), due.Add(after)
	}
	tr.commit(ctx, msgs...)
	first, err := scheduler.Delayed(ctx, admin.DelayedQuery{Limit: 1})
	if err != nil || len(first) != 1 || !first[0].NotBefore.Equal(due.Add(time.Hour)) || first[0].CreatedAt.IsZero() {
		fail.With("delayed: %+v, want a: %w", first, errors.Join(err, errWrongAnswer))
	}
	expectDelayed(ctx, scheduler, admin.DelayedQuery{}, "a b c")
	expectDelayed(ctx, scheduler, admin.DelayedQuery{After: &first[0]}, "b c")
	expectDelayed(ctx, scheduler, admin.DelayedQuery{ID: "late b"}, "b")
	expectDelayed(ctx, scheduler, admin.DelayedQuery{Topic: testTopic, Key: "k", Limit: 2}, "a b")
	expectDelayed(ctx, scheduler, admin.DelayedQuery{Key: "l"}, "")
	cancelIt(ctx, scheduler, "late b")
	expectDelayed(ctx, scheduler, admin.DelayedQuery{}, "a c")
	_, err = scheduler.CancelDelayed(ctx, admin.CancelRequest{By: by()})
	expectError("cancel of no id", err, admin.ErrInvalidRequest)
}

func expectDelayed(ctx context.Context, scheduler admin.Manager, q admin.DelayedQuery, want string) {
	all, err := scheduler.Delayed(ctx, q)
	found := make([]string, len(all))
	for i := range all {
		found[i] = string(all[i].Payload)
	}
	if got := strings.Join(found, " "); err != nil || got != want {
		fail.With("delayed %+v: %s, want %s: %w", q, got, want, errors.Join(err, errWrongAnswer))
	}
}

// cancelIt cancels a delayed message: not in a dry run, then once, and then without effect.
func cancelIt(ctx context.Context, scheduler admin.Manager, id string) {
	cancel := admin.CancelRequest{By: by(), ID: id, DryRun: true}
	for _, want := range []int{1, 1, 0} {
		changed, err := scheduler.CancelDelayed(ctx, cancel)
		if err != nil || changed.Count != want || len(changed.IDs) != want {
			fail.With("cancel, dry run %t: %+v, want %d: %w", cancel.DryRun, changed, want, errors.Join(err, errWrongAnswer))
		}
		cancel.DryRun = false
	}
	entries, err := scheduler.Audit(ctx, admin.AuditQuery{ID: id})
	if err != nil || len(entries) != 1 || entries[0].Action != "cancel_delayed" || entries[0].Actor != by().Actor ||
		entries[0].Topic != testTopic || entries[0].Key != "k" {
		fail.With("audit: %+v, want one entry about the cancel: %w", entries, errors.Join(err, errWrongAnswer))
	}
}
