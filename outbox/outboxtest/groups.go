package outboxtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

func groupChecks() []Check {
	return []Check{{Name: "O12_GroupsAreIndependent", run: groupsAreIndependent, skip: func(f Features) bool { return f.NoGroups }}}
}

// groupsAreIndependent holds the leases of two groups at once, reads in one ahead of the other,
// and starts a third when the log is old.
func groupsAreIndependent(ctx context.Context, tr *trial) {
	a := acquireFrom(ctx, tr.Source("group-a"))
	var b *reader
	fail.In("while another group's lease is held", func() { b = acquireFrom(ctx, tr.Source("group-b")) })
	tr.commit(ctx, named("m-1", "m-2")...)
	a.expectDrain(ctx, 1, "m-1", "m-2")
	tr.commit(ctx, named("m-3")...)
	b.expectDrain(ctx, 10, "m-1", "m-2", "m-3")
	a.expectDrain(ctx, 10, "m-3")
	c := acquireFrom(ctx, tr.Source("group-c"))
	fail.In("a new group", func() { tr.expectFromTheStart(ctx, c, "m-1", "m-2", "m-3") })
	for _, r := range []*reader{a, b, c} {
		fail.If(r.Release(ctx))
	}
}

// expectFromTheStart expects a new group to read these records, which all others have settled. If
// history is not kept, it may read any remaining ones.
func (tr *trial) expectFromTheStart(ctx context.Context, r *reader, names ...string) {
	if !tr.features.NoHistory {
		r.expectDrain(ctx, 2, names...)
		return
	}
	got := r.drain(ctx, 2)
	expect(got, names[max(len(names)-len(got), 0):]...)
}

func startChecks() []Check {
	return unless(func(f Features) bool { return f.NoStarts },
		Check{Name: "O2_StartIsWhereItSays", run: startIsWhereItSays(1)},
		Check{
			Name: "O2_StartOfEverySlot", run: startIsWhereItSays(4),
			skip: func(f Features) bool { return f.NoSlots },
		},
		Check{Name: "O12_StartIsForNewGroups", run: startIsForNewGroups},
	)
}

// begun is a new group, and what it reads of the records that were committed before it
// began.
type begun struct {
	cfg  GroupConfig
	want []string
}

// startIsWhereItSays begins groups at the oldest record, now and at times. What had not committed
// when a group began is ahead of it in any case.
func startIsWhereItSays(slots int) func(context.Context, *trial) {
	return func(ctx context.Context, tr *trial) {
		tr.commit(ctx, keyed("k", "old")...)
		commitSlow := tr.openLate(ctx, keyed("slow", "slow")...)
		at := tr.commitLater(ctx, keyed("k", "new")...)
		groups := []begun{
			{GroupConfig{Name: "now", Slots: slots, Start: driver.Start{Now: true}}, nil},
			{GroupConfig{Name: "ahead", Slots: slots, Start: driver.Start{At: at.Add(time.Hour)}}, nil},
			{GroupConfig{Name: "oldest", Slots: slots}, []string{"old", "new"}},
			{GroupConfig{Name: "at", Slots: slots, Start: driver.Start{At: at}}, []string{"new"}},
		}
		if tr.features.NoHistory {
			groups = groups[:2] // the group that found out the time has settled what the others would read
		}
		for _, g := range groups {
			fail.In(fmt.Sprintf("new group %q", g.cfg.Name), func() { tr.expectGroup(ctx, g.cfg, g.want...) })
		}
		commitSlow(ctx)
		for _, g := range groups {
			fail.In(fmt.Sprintf("group %q, what committed after it began", g.cfg.Name), func() { tr.expectGroup(ctx, g.cfg, "slow") })
		}
	}
}

// commitLater commits msgs when the clock has advanced, and returns the time at which the first
// of them was enqueued.
func (tr *trial) commitLater(ctx context.Context, msgs ...outbox.Message) time.Time {
	r := acquireFrom(ctx, tr.Source("clock"))
	before := r.drain(ctx, 10)
	fail.If(pause(ctx))
	tr.commit(ctx, msgs...)
	after := r.drain(ctx, 10)
	switch {
	case len(before) == 0 || len(after) == 0:
		fail.With("read: %s and %s, want records in both", describe(before), describe(after))
	case !after[0].CreatedAt.After(before[len(before)-1].CreatedAt):
		fail.With("records that were committed one after another have times %s and %s",
			before[len(before)-1].CreatedAt, after[0].CreatedAt)
	}
	fail.If(r.Release(ctx))
	return after[0].CreatedAt
}

// expectGroup reads all slots of a group to their ends and expects exactly these records.
func (tr *trial) expectGroup(ctx context.Context, cfg GroupConfig, names ...string) {
	src := tr.group(cfg)
	var got []outbox.Record
	var readers []*reader
	for range max(cfg.Slots, 1) {
		r := acquireFrom(ctx, src)
		records := r.drain(ctx, 1)
		got, readers = append(got, records...), append(readers, r)
	}
	releaseAll(ctx, readers)
	expect(got, names...)
}

// startIsForNewGroups sets another start for a group that has already read.
func startIsForNewGroups(ctx context.Context, tr *trial) {
	tr.commit(ctx, keyed("k", numbered("m", 3)...)...)
	r := tr.acquireGroup(ctx, GroupConfig{Name: "old"})
	p := r.expectPage(ctx, 3, numbered("m", 3)...)
	r.settle(ctx, p, 2)
	fail.If(r.Release(ctx))
	fail.In("a group that has read two of three, told to begin now", func() {
		tr.expectGroup(ctx, GroupConfig{Name: "old", Start: driver.Start{Now: true}}, "m-3")
	})
	tr.expectGroup(ctx, GroupConfig{Name: "old"})
}

func topicChecks() []Check {
	return unless(func(f Features) bool { return f.NoTopics },
		Check{Name: "O2_GroupReadsItsTopics", run: groupReadsItsTopics},
		Check{
			Name: "O2_SlotReadsItsTopics", run: slotReadsItsTopics,
			skip: func(f Features) bool { return f.NoSlots },
		},
		Check{Name: "O12_PositionPassesOtherTopics", run: positionPassesOtherTopics},
		Check{Name: "O12_TopicsChangeFromWhereTheGroupStands", run: topicsChangeWhereTheGroupStands},
		Check{Name: "O2_NarrowerTopicsLeaveNothingBehind", run: narrowerTopicsLeaveNothingBehind},
		Check{
			Name: "O2_NarrowerTopicsOfEachSlot", run: narrowerTopicsOfEachSlot,
			skip: func(f Features) bool { return f.NoSlots },
		},
		Check{Name: "O2_TopicsOfTheLeaderCount", run: topicsOfTheLeaderCount},
		Check{Name: "Admin_TopicsAreSet", run: topicsAreSet},
	)
}

// groupReadsItsTopics reads through patterns with every character that could be taken for a
// wildcard, including late commits.
func groupReadsItsTopics(ctx context.Context, tr *trial) {
	orders := tr.acquireGroup(ctx, GroupConfig{Name: "orders", Topics: []string{"orders.*", `100%_\*`}})
	both := tr.acquireGroup(ctx, GroupConfig{Name: "both", Topics: []string{"orders.*", "bills"}})
	all := tr.acquireGroup(ctx, GroupConfig{Name: "all"})
	everything := []string{"orders.eu", "bills", `100%_\`, "100xx", "orders", "orders.us", "Orders.eu"}
	for range 3 {
		commitLate := tr.openLate(ctx, about("orders.late", "bills")...)
		tr.commit(ctx, about(everything...)...)
		orders.expectDrain(ctx, 1, "orders.eu", `100%_\`, "orders.us")
		both.expectDrain(ctx, 2, "orders.eu", "bills", "orders.us")
		all.expectDrain(ctx, 10, everything...)
		commitLate(ctx)
		fail.In("what has committed late", func() {
			orders.expectDrain(ctx, 1, "orders.late")
			both.expectDrain(ctx, 1, "orders.late", "bills")
			all.expectDrain(ctx, 10, "orders.late", "bills")
		})
	}
	releaseAll(ctx, []*reader{orders, both, all})
}

// slotReadsItsTopics uses both filters at once.
func slotReadsItsTopics(ctx context.Context, tr *trial) {
	_, readers := tr.slots(ctx, GroupConfig{Name: "plain", Slots: 2})
	keys := tr.keysOfSlots(ctx, readers)
	_, readers = tr.slots(ctx, GroupConfig{Name: "filtered", Slots: 2, Topics: []string{"a*"}})
	for _, topic := range []string{"a1", "b", "a2"} {
		for slot, key := range keys {
			m := outbox.Message{Topic: topic, Key: key, Payload: fmt.Appendf(nil, "%s in slot %d", topic, slot)}
			tr.commit(ctx, m)
		}
	}
	for slot, r := range readers {
		fail.In(fmt.Sprintf("slot %d", slot), func() {
			r.expectDrain(ctx, 1, fmt.Sprintf("a1 in slot %d", slot), fmt.Sprintf("a2 in slot %d", slot))
		})
	}
	releaseAll(ctx, readers)
}

// positionPassesOtherTopics commits nothing for a group for a while. What its position has passed
// is not read when the group reads all topics later, except perhaps the last record, since a
// position may end with what was read.
func positionPassesOtherTopics(ctx context.Context, tr *trial) {
	const rounds = 4
	r := tr.acquireGroup(ctx, GroupConfig{Name: "mine", Topics: []string{"mine"}})
	for i := range rounds {
		tr.commit(ctx, about(fmt.Sprintf("other-%d", i+1))...)
		fail.In("a record of another topic", func() { r.expectDrain(ctx, 10) })
	}
	fail.If(r.Release(ctx))
	tr.commit(ctx, about("mine", "new")...)
	got := tr.drainGroup(ctx, GroupConfig{Name: "mine"})
	want := []string{"mine", "new"}
	if len(got) > len(want) {
		want = append([]string{fmt.Sprintf("other-%d", rounds)}, want...)
	}
	fail.In(fmt.Sprintf("after %d records of other topics were passed", rounds), func() { expect(got, want...) })
}

// topicsChangeWhereTheGroupStands adds a topic to a group, and takes one away.
func topicsChangeWhereTheGroupStands(ctx context.Context, tr *trial) {
	a, both, b := GroupConfig{Name: "g", Topics: []string{"a"}}, GroupConfig{Name: "g", Topics: []string{"a", "b*"}},
		GroupConfig{Name: "g", Topics: []string{"b*"}}
	for _, step := range []struct {
		what   string
		cfg    GroupConfig
		commit []string
		want   []string
	}{
		{"of topic a", a, []string{"b1", "a", "b2"}, []string{"a"}},
		{"of topic a", a, []string{"a"}, []string{"a"}},
		{"after b was added", both, []string{"b3", "a", "c"}, []string{"b3", "a"}},
		{"after b was added", both, []string{"b4"}, []string{"b4"}},
		{"after a was taken away", b, []string{"b5", "c"}, []string{"b5"}},
		{"after a was taken away", b, []string{"a", "b6", "c"}, []string{"b6"}},
		{"after a was added again", both, []string{"b7", "a"}, []string{"b7", "a"}},
	} {
		tr.commit(ctx, about(step.commit...)...)
		got := tr.drainGroup(ctx, step.cfg)
		fail.In(step.what, func() { expect(got, step.want...) })
	}
}

// narrow and wide are configurations of one group: narrow reads one topic, wide reads more.
func narrow() GroupConfig { return GroupConfig{Name: "g", Topics: []string{"a"}} }
func wide() GroupConfig   { return GroupConfig{Name: "g", Topics: []string{"a", "b*"}} }

// narrowerTopicsLeaveNothingBehind removes a topic while one of its messages is read and not
// settled, and another one is not read.
func narrowerTopicsLeaveNothingBehind(ctx context.Context, tr *trial) {
	tr.commit(ctx, about("a", "b1")...)
	r := tr.acquireGroup(ctx, wide())
	page, err := r.Read(ctx, 10)
	fail.If(err, "read")
	expect(page.Records, "a", "b1")
	fail.If(r.Release(ctx))
	tr.commit(ctx, about("b2", "c")...)
	_, err = tr.group(narrow()).Acquire(ctx, longTTL)
	expectError("acquire for fewer topics, while messages of the others wait", err, driver.ErrSourceUnusable)
	expectError("acquire for fewer topics, while messages of the others wait", err, basis.ErrOtherTopics)
	if !strings.Contains(err.Error(), "2 wait") {
		fail.With("the error does not say that 2 messages wait: %w", err)
	}
	expect(tr.drainGroup(ctx, wide()), "a", "b1", "b2")
	tr.commit(ctx, about("a")...)
	fail.In("once nothing of the others waits", func() { expect(tr.drainGroup(ctx, narrow()), "a") })
}

// narrowerTopicsOfEachSlot takes a topic away in a rolling deploy, slot by slot, while one of its messages waits in the second.
func narrowerTopicsOfEachSlot(ctx context.Context, tr *trial) {
	_, readers := tr.slots(ctx, GroupConfig{Name: "plain", Slots: 2})
	keys := tr.keysOfSlots(ctx, readers)
	old, next := wide(), narrow()
	old.Slots, next.Slots = 2, 2
	_, readers = tr.slots(ctx, old)
	tr.commit(ctx, outbox.Message{Topic: "b1", Key: keys[1], Payload: []byte("waits in slot 1")})
	fail.If(readers[0].Release(ctx), "release of slot 0")
	first := tr.acquireGroup(ctx, next)
	if slot := slotOf(first); slot != 0 {
		fail.With("acquire for fewer topics: slot %d while only 0 is free", slot)
	}
	fail.If(readers[1].Release(ctx), "release of slot 1")
	_, err := tr.group(next).Acquire(ctx, longTTL)
	expectError("acquire of slot 1 for fewer topics, while a message of the others waits in it", err, basis.ErrOtherTopics)
	if !strings.Contains(err.Error(), "1 wait") {
		fail.With("the error does not say that 1 message waits: %w", err)
	}
	last := tr.acquireGroup(ctx, old)
	last.expectDrain(ctx, 10, "waits in slot 1")
	fail.If(last.Release(ctx), "release of slot 1")
	second := tr.acquireGroup(ctx, next)
	for slot, key := range keys {
		tr.commit(ctx, outbox.Message{Topic: "a", Key: key, Payload: fmt.Appendf(nil, "a in slot %d", slot)})
	}
	first.expectDrain(ctx, 10, "a in slot 0")
	second.expectDrain(ctx, 10, "a in slot 1")
	releaseAll(ctx, []*reader{first, second})
}

// topicsOfTheLeaderCount has a standby source with fewer topics.
func topicsOfTheLeaderCount(ctx context.Context, tr *trial) {
	r := tr.acquireGroup(ctx, wide())
	_, err := tr.group(narrow()).Acquire(ctx, longTTL)
	expectError("acquire of a group that another one leads", err, driver.ErrLeaseHeld)
	tr.commit(ctx, about("b1")...)
	r.expectDrain(ctx, 1, "b1")
	manager, ok := tr.Subject.(admin.Manager)
	if !ok {
		return
	}
	groups, err := manager.Groups(ctx)
	if err != nil || !slices.ContainsFunc(groups, func(g admin.Group) bool { return g.Name == wide().Name && slices.Equal(g.Topics, wide().Topics) }) {
		fail.With("groups: %+v, want the topics of the one that leads: %w", groups, errors.Join(err, errWrongAnswer))
	}
}

// topicsAreSet removes a topic with a message that is then never sent.
func topicsAreSet(ctx context.Context, tr *trial) {
	manager, ok := tr.Subject.(admin.Manager)
	if !ok {
		return
	}
	set := func(group string, dry bool) (admin.Changed, error) {
		return manager.SetTopics(ctx, admin.GroupRequest{By: by(), Group: group, Topics: narrow().Topics, DryRun: dry})
	}
	tr.commit(ctx, about("a", "b1", "c")...)
	r := tr.acquireGroup(ctx, wide())
	_, err := set(wide().Name, false)
	expectError("topics of a group that is read", err, admin.ErrGroupActive)
	fail.If(r.Release(ctx))
	for _, refused := range []struct {
		group string
		want  error
	}{{"none", admin.ErrNoSuchGroup}, {"", admin.ErrInvalidRequest}} {
		_, err := set(refused.group, true)
		expectError(fmt.Sprintf("topics of group %q", refused.group), err, refused.want)
	}
	for _, dry := range []bool{true, false} {
		changed, err := set(wide().Name, dry)
		if err != nil || changed.Unread != 1 {
			fail.With("set topics, dry run %t: %+v, want 1 message left behind: %w", dry, changed, errors.Join(err, errWrongAnswer))
		}
		if _, err := tr.group(narrow()).Acquire(ctx, longTTL); dry {
			expectError("acquire after a dry run", err, basis.ErrOtherTopics)
		} else {
			fail.If(err, "acquire once the topics are set")
		}
	}
	_, err = manager.SetTopics(ctx, admin.GroupRequest{By: by(), Group: wide().Name, Topics: narrow().Topics, Name: "other", DryRun: true})
	expectError("topics and a name at once", err, admin.ErrInvalidRequest)
	entries, err := manager.Audit(ctx, admin.AuditQuery{})
	if err != nil || !slices.ContainsFunc(entries, func(e admin.AuditEntry) bool { return e.Action == "set_topics" && e.Group == wide().Name }) {
		fail.With("the audit has no entry of the change: %w", errors.Join(err, errWrongAnswer))
	}
}

// drainGroup reads everything that the group has not settled yet, in a separate session.
func (tr *trial) drainGroup(ctx context.Context, cfg GroupConfig) []outbox.Record {
	r := tr.acquireGroup(ctx, cfg)
	got := r.drain(ctx, 10)
	fail.If(r.Release(ctx))
	return got
}

var (
	errNoGrouper = errors.New("the subject is not a Grouper; say Features.NoSlots, NoStarts, NoTopics and NoPositions")
	errNoSlotted = errors.New("the session is not a driver.Slotted; say Features.NoSlots")
	errNoSharded = errors.New("the source is not a driver.Sharded; say Features.NoSlots")
)

// group returns a source of the group, which is testGroup unless cfg names another.
func (tr *trial) group(cfg GroupConfig) driver.Source {
	g, ok := tr.Subject.(Grouper)
	if !ok {
		fail.Now(errNoGrouper)
	}
	cfg.Name = cmp.Or(cfg.Name, testGroup)
	src, err := g.Group(cfg)
	fail.If(err, fmt.Sprintf("group %+v", cfg))
	return src
}

// acquireGroup starts a session of the only slot of the group.
func (tr *trial) acquireGroup(ctx context.Context, cfg GroupConfig) *reader {
	return acquireFrom(ctx, tr.group(cfg))
}

// slots starts the sessions of all slots of the group and returns them by number.
func (tr *trial) slots(ctx context.Context, cfg GroupConfig) (driver.Source, []*reader) {
	src := tr.group(cfg)
	return src, acquireSlots(ctx, src, cfg.Slots)
}

// acquireSlots starts a session of each slot.
func acquireSlots(ctx context.Context, src driver.Source, slots int) []*reader {
	all := make([]*reader, slots)
	for range all {
		r := acquireFrom(ctx, src)
		at := slotOf(r)
		switch {
		case at < 0 || at >= slots:
			fail.With("acquire: slot %d of %d", at, slots)
		case all[at] != nil:
			fail.With("acquire: two hold the lease of slot %d", at)
		}
		all[at] = r
	}
	_, err := src.Acquire(ctx, longTTL)
	expectError("acquire when all slots are held", err, driver.ErrLeaseHeld)
	return all
}

func slotOf(r *reader) int {
	s, ok := r.Session.(driver.Slotted)
	if !ok {
		fail.Now(errNoSlotted)
	}
	return s.Slot()
}

func releaseAll(ctx context.Context, readers []*reader) {
	for i, r := range readers {
		fail.If(r.Release(ctx), fmt.Sprintf("release of slot %d", i))
	}
}

// drainSlots drains every slot, one after another, and returns what each has read.
func drainSlots(ctx context.Context, readers []*reader, limit int) [][]outbox.Record {
	all := make([][]outbox.Record, len(readers))
	for i, r := range readers {
		fail.In(fmt.Sprintf("slot %d", i), func() { all[i] = r.drain(ctx, limit) })
	}
	return all
}

// keysOfSlots writes records of many keys, drains them, and returns one key per slot.
func (tr *trial) keysOfSlots(ctx context.Context, readers []*reader) []string {
	const most = 64
	for i := range most {
		key := fmt.Sprintf("key%d", i)
		tr.commit(ctx, keyed(key, "of "+key)...)
	}
	read := drainSlots(ctx, readers, 20)
	keys := make([]string, len(readers))
	for i := range read {
		if len(read[i]) == 0 {
			fail.With("slot %d of %d has none of %d keys", i, len(readers), most)
		}
		keys[i] = strings.Clone(read[i][0].Key)
	}
	return keys
}
