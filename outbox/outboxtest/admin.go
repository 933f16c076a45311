package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

func adminChecks() []Check {
	return unless(
		noHolder,
		Check{Name: "Admin_StatsCount", run: statsCount},
		Check{Name: "Admin_OutagesAreSeen", run: outagesAreSeen},
		Check{Name: "Admin_HeldIsSelected", run: heldIsSelected},
		Check{Name: "Admin_ParkedKeysAreListed", run: parkedKeysAreListed},
		Check{Name: "Admin_ParkedAgainIsNew", run: parkedAgainIsNew},
		Check{Name: "Admin_RedriveIsStopped", run: redriveIsStopped},
		Check{Name: "Admin_FailuresAreGrouped", run: failuresAreGrouped},
		Check{Name: "Admin_DryRunChangesNothing", run: dryRunChangesNothing},
		Check{Name: "Admin_ChangesAreAudited", run: changesAreAudited},
		Check{Name: "Admin_AuditKeepsWhoAsked", run: auditKeepsWhoAsked},
		Check{Name: "Admin_BadRequestsAreRefused", run: badRequestsAreRefused},
		Check{Name: "Admin_GroupsAreSeen", run: groupsAreSeen},
		Check{Name: "Admin_GroupIsRemoved", run: groupIsRemoved},
		Check{Name: "O2_RenamedGroupGoesOn", run: renamedGroupGoesOn},
		Check{Name: "O6_NotesOfPoliciesTakeTurns", run: notesOfPoliciesTakeTurns},
		Check{Name: "Admin_GreatestLagIsSet", run: greatestLagIsSet},
		Check{Name: "Admin_GroupIsPaused", run: groupIsPaused},
		Check{Name: "Admin_DelayedIsCancelled", run: delayedIsCancelled, skip: noDelay},
		Check{Name: "Admin_SearchFinds", run: searchFinds},
		Check{Name: "Admin_TraceTells", run: traceTells},
		Check{Name: "Admin_TraceKnowsWhereAGroupBegan", run: traceKnowsBegin, skip: func(f Features) bool { return f.NoGroups || f.NoStarts || f.NoHistory }},
		Check{Name: "Admin_TraceIsBounded", run: traceIsBounded},
		Check{Name: "Admin_TraceBoundsWhatIsSetAside", run: traceBoundsWhatIsSetAside},
	)
}

// Texts of errors. The first two have one fingerprint.
const (
	timeoutOf7 = "no answer from 10.0.0.7:9092 after 30s"
	timeoutOf8 = "no answer from 10.0.0.8:9092 after 45s"
	tooLarge   = "too large"
)

func failedOf(kind outbox.FailureKind, texts ...string) []driver.Attempt {
	all := make([]driver.Attempt, len(texts))
	for i, text := range texts {
		all[i] = driver.Attempt{Kind: kind, Error: text}
	}
	return all
}

// ward sets aside a record of every kind: of key k, a is parked and b waits behind it; of
// l, c is parked; of m, d is tried again at once and e waits; f is parked and has no key; g
// is dead; h is delivered. i of key n is not read.
func ward(ctx context.Context, tr *trial) *setAside {
	msgs := slices.Concat(keyed("k", "a", "b"), keyed("l", "c"), keyed("m", "d", "e"), named("f"), keyed("o", "g", "h"))
	tr.commit(ctx, msgs...)
	s := tr.holder(ctx)
	s.hold(ctx, map[string]driver.Holding{
		"a": {Fate: driver.FatePark, Attempts: failedOf(outbox.FailureUnknown, "first", timeoutOf7), Reason: "tried too often"},
		"b": {Fate: driver.FateWait},
		"c": {Fate: driver.FatePark, Attempts: failedOf(outbox.FailureUnknown, timeoutOf8)},
		"d": {Fate: driver.FateRetry, Attempts: failedOf(outbox.FailureUnknown, timeoutOf8)},
		"e": {Fate: driver.FateWait},
		"f": {Fate: driver.FatePark, Attempts: failedOf(outbox.FailurePermanent, tooLarge)},
		"g": {Fate: driver.FateDead, Attempts: failedOf(outbox.FailurePermanent, tooLarge), Reason: "given up"},
	}, "a", "b", "c", "d", "e", "f", "g", "h")
	tr.commit(ctx, keyed("n", "i")...)
	return s
}

var errWrongAnswer = errors.New("not the right answer")

func statsCount(ctx context.Context, tr *trial) {
	s := ward(ctx, tr)
	tr.commit(ctx, keyed("n", "j")...)
	stats, g := s.statsWithAges(ctx)
	if g.Held != 6 || g.Retrying != 1 || g.Parked != 3 || g.Dead != 1 {
		fail.With("stats: %+v, want 6 held, 1 of them retried and 3 parked, 1 dead", g)
	}
	if len(g.Slots) != 1 {
		fail.With("stats: %d slots, want 1", len(g.Slots))
	}
	slot := g.Slots[0]
	if slot.Owner == "" || slot.Epoch != s.Epoch() || slot.LeaseLeft <= 0 || slot.Problem != "" || slot.Backlog != 2 {
		fail.With("stats: %+v, want an owner with epoch %d and 2 unsettled", slot, s.Epoch())
	}
	if stats.LastSeq < 10 {
		fail.With("stats: last seq %d, want 10 at least", stats.LastSeq)
	}
	fail.In("after stats", func() { s.reader.expectPage(ctx, 10, "i", "j") })
}

// statsWithAges returns the statistics of testGroup, after some time has passed since records
// were enqueued.
func (s *setAside) statsWithAges(ctx context.Context) (admin.Stats, admin.GroupStats) {
	for {
		stats, err := s.op.Stats(ctx)
		fail.If(err, "stats")
		i := slices.IndexFunc(stats.Groups, func(g admin.GroupStats) bool { return g.Name == testGroup })
		if i < 0 {
			fail.With("stats: group %q is missing in %+v", testGroup, stats)
		}
		g := stats.Groups[i]
		if g.OldestRetried > 0 && g.OldestWaiting > 0 && len(g.Slots) > 0 && g.Slots[0].Lag > 0 {
			return stats, g
		}
		fail.If(wait.For(ctx, time.Millisecond), fmt.Sprintf("stats: %+v, want ages above 0", g))
	}
}

// listed pages through the records that q selects, two per page, and returns their payloads or ids.
func (s *setAside) listed(ctx context.Context, list func(context.Context, admin.HeldQuery) ([]admin.HeldRecord, error), q admin.HeldQuery) ([]admin.HeldRecord, error) {
	var all []admin.HeldRecord
	for q.Limit = 2; ; {
		page, err := list(ctx, q)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < q.Limit {
			return all, nil
		}
		q.After = page[len(page)-1].Seq
	}
}

func heldIsSelected(ctx context.Context, tr *trial) {
	s := ward(ctx, tr)
	for _, c := range []struct {
		query admin.HeldQuery
		want  string
	}{
		{admin.HeldQuery{}, "a b c d e f"},
		{admin.HeldQuery{State: admin.HeldParked}, "a b c f"},
		{admin.HeldQuery{State: admin.HeldRetrying}, "d e"},
		{admin.HeldQuery{Group: testGroup, Key: "k"}, "a b"},
		{admin.HeldQuery{Topic: "ord*", Key: "m"}, "d e"},
		{admin.HeldQuery{Topic: "mails"}, ""},
		{admin.HeldQuery{Key: "m", State: admin.HeldParked}, ""},
	} {
		all, err := s.listed(ctx, s.op.Held, c.query)
		fail.If(err, fmt.Sprintf("held %+v", c.query))
		fail.In(fmt.Sprintf("held %+v", c.query), func() { expect(recordsIn(all), strings.Fields(c.want)...) })
		for _, h := range all {
			waits := slices.Contains([]string{"b", "e"}, string(h.Payload))
			state := admin.HeldParked
			if slices.Contains([]string{"d", "e"}, string(h.Payload)) {
				state = admin.HeldRetrying
			}
			if h.Waits != waits || h.State != state || h.Group != testGroup || h.Since.IsZero() {
				fail.With("held %+v: %+v, want %s, waits: %t", c.query, h, state, waits)
			}
		}
	}
	bare, err := s.listed(ctx, s.op.Held, admin.HeldQuery{OmitPayload: true})
	if err != nil || len(bare) != 6 || slices.ContainsFunc(bare, func(h admin.HeldRecord) bool { return len(h.Payload) > 0 || h.ID == "" }) {
		fail.With("held without payloads: %d records, %w", len(bare), errors.Join(err, errors.New("want 6 with ids and no payload")))
	}
	dead, err := s.listed(ctx, s.op.Dead, admin.HeldQuery{Key: "o"})
	fail.If(err)
	expect(recordsIn(dead), "g")
}

func recordsIn(all []admin.HeldRecord) []outbox.Record {
	records := make([]outbox.Record, len(all))
	for i := range all {
		records[i] = all[i].Record
	}
	return records
}

func parkedKeysAreListed(ctx context.Context, tr *trial) {
	s := ward(ctx, tr)
	all, err := s.op.ParkedKeys(ctx, admin.KeysQuery{Topic: "or*"})
	if err != nil || len(all) != 3 {
		fail.With("parked keys: %+v, want 3: %w", all, errors.Join(err, errWrongAnswer))
	}
	for i, want := range []admin.ParkedKey{
		{Key: testKey("k"), Records: 2, Attempts: 2, Reason: "tried too often", LastError: timeoutOf7, LastKind: "unknown"},
		{Key: testKey("l"), Records: 1, Attempts: 1, LastError: timeoutOf8, LastKind: "unknown"},
		{Key: testKey(""), Records: 1, Attempts: 1, LastError: tooLarge, LastKind: "permanent"},
	} {
		got := all[i]
		if got.Seq == 0 || got.ID == "" || got.Since.IsZero() {
			fail.With("parked keys: %+v lacks its record", got)
		}
		want.Seq, want.ID, want.Since = got.Seq, got.ID, got.Since
		if got != want {
			fail.With("parked keys: %+v, want %+v", got, want)
		}
	}
	next, err := s.op.ParkedKeys(ctx, admin.KeysQuery{After: all[0].Seq, Limit: 1})
	if err != nil || len(next) != 1 || next[0] != all[1] {
		fail.With("parked keys after %d: %+v, want %+v: %w", all[0].Seq, next, all[1], errors.Join(err, errWrongAnswer))
	}
}

func failuresAreGrouped(ctx context.Context, tr *trial) {
	s := ward(ctx, tr)
	all, err := s.op.Failures(ctx, admin.FailuresQuery{})
	if err != nil || len(all) != 2 {
		fail.With("failures: %+v, want 2 groups: %w", all, errors.Join(err, errWrongAnswer))
	}
	timeouts, large := all[0], all[1]
	if timeouts.Records != 2 || timeouts.Kind != "unknown" || timeouts.Topic != testTopic || timeouts.Last.Before(timeouts.First) ||
		timeouts.Fingerprint != admin.Fingerprint(timeoutOf7) || !slices.Contains([]string{timeoutOf7, timeoutOf8}, timeouts.Example) {
		fail.With("failures: %+v, want those of a and c", timeouts)
	}
	if large.Records != 1 || large.Kind != "permanent" || large.Fingerprint != tooLarge {
		fail.With("failures: %+v, want that of f", large)
	}
	dead, err := s.op.Failures(ctx, admin.FailuresQuery{Dead: true, Topic: "o*"})
	if err != nil || len(dead) != 1 || dead[0].Fingerprint != tooLarge {
		fail.With("failures of the dead: %+v, want one: %w", dead, errors.Join(err, errWrongAnswer))
	}
	changed, err := s.op.Redrive(ctx, admin.ChangeRequest{By: by(), Selection: admin.Selection{Fingerprint: timeouts.Fingerprint}})
	if err != nil || changed.Count != 2 {
		fail.With("redrive by fingerprint: %+v, want a and c: %w", changed, errors.Join(err, errWrongAnswer))
	}
	left, err := s.op.Held(ctx, admin.HeldQuery{State: admin.HeldParked})
	fail.If(err)
	expect(recordsIn(left), "f")
}

func searchFinds(ctx context.Context, tr *trial) {
	searcher, ok := tr.Subject.(admin.Manager)
	if !ok {
		return
	}
	msgs := slices.Concat(keyed("k", "a", "b"), keyed("kl", "c"), named("d"))
	msgs[1].Type, msgs[2].Type = "placed", "paid"
	msgs[3].Topic = "mails"
	tr.commit(ctx, msgs...)
	open := tr.open(ctx, named("not committed")...)
	defer func() { _ = open.Rollback(context.WithoutCancel(ctx)) }()
	for _, c := range []struct {
		query admin.MessageQuery
		want  string
	}{
		{admin.MessageQuery{}, "a b c d"},
		{admin.MessageQuery{Topic: testTopic}, "a b c"},
		{admin.MessageQuery{Topic: "m*"}, "d"},
		{admin.MessageQuery{Key: "k"}, "a b"},
		{admin.MessageQuery{Type: "p*d"}, "b c"},
		{admin.MessageQuery{Type: "*"}, "a b c d"},
		{admin.MessageQuery{Key: "k", Type: "paid"}, ""},
		{admin.MessageQuery{KeyPrefix: "k"}, "a b c"},
		{admin.MessageQuery{KeyPrefix: "kl"}, "c"},
		{admin.MessageQuery{KeyPrefix: "l"}, ""},
		{admin.MessageQuery{KeyPrefix: "K"}, ""},
		{admin.MessageQuery{KeyPrefix: "k_"}, ""},
		{admin.MessageQuery{KeyPrefix: "k", Key: "k", Type: "placed"}, "b"},
		{admin.MessageQuery{From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)}, "a b c d"},
		{admin.MessageQuery{To: time.Now().Add(-time.Hour)}, ""},
		{admin.MessageQuery{From: time.Now().Add(time.Hour)}, ""},
	} {
		for _, newest := range []bool{false, true} {
			for _, limit := range []int{1, 3, 100} {
				for _, scan := range []int{1, 2, 1000} {
					q := c.query
					q.Newest, q.Limit, q.Scan = newest, limit, scan
					fail.In(fmt.Sprintf("search %+v", q), func() {
						got, err := searchAll(ctx, searcher, q)
						fail.If(err)
						if newest {
							slices.Reverse(got)
						}
						expect(got, strings.Fields(c.want)...)
					})
				}
			}
		}
	}
	bare, err := searchAll(ctx, searcher, admin.MessageQuery{Key: "kl", OmitPayload: true})
	if err != nil || len(bare) != 1 || len(bare[0].Payload) > 0 || bare[0].ID == "" || bare[0].Type != "paid" {
		fail.With("search without payloads: %+v: %w", bare, errors.Join(err, errWrongAnswer))
	}
	for _, q := range []admin.MessageQuery{{Limit: -1}, {Scan: -1}, {After: -1}, {Topic: "\xff"}, {KeyPrefix: "\xff"}} {
		_, err := searcher.Search(ctx, q)
		expectError(fmt.Sprintf("search %+v", q), err, admin.ErrInvalidRequest)
	}
}

// searchAll pages through the messages that q selects.
func searchAll(ctx context.Context, searcher admin.Manager, q admin.MessageQuery) ([]outbox.Record, error) {
	var all []outbox.Record
	for range mostRecords {
		page, err := searcher.Search(ctx, q)
		all = append(all, page.Records...)
		if err != nil || page.Next == 0 {
			return all, err
		}
		q.After = page.Next
	}
	return nil, errNoEnd
}

func traceTells(ctx context.Context, tr *trial) {
	s := ward(ctx, tr)
	searcher, ok := tr.Subject.(admin.Manager)
	if !ok {
		return
	}
	all, err := searchAll(ctx, searcher, admin.MessageQuery{})
	if err != nil || len(all) != 9 {
		fail.With("search: %s, want 9: %w", describe(all), errors.Join(err, errWrongAnswer))
	}
	states := map[string]admin.TraceState{
		"a": admin.TraceHeld, "b": admin.TraceHeld, "c": admin.TraceDropped, "d": admin.TraceHeld, "e": admin.TraceHeld, "f": admin.TraceHeld,
		"g": admin.TraceDead, "h": admin.TraceSent, "i": admin.TracePending,
	}
	_, err = s.op.Drop(ctx, admin.ChangeRequest{By: by(), Selection: admin.Selection{Topic: testTopic, Key: "l"}})
	fail.If(err)
	for _, r := range all {
		name := string(r.Payload)
		trace, err := searcher.Trace(ctx, admin.TraceQuery{ID: r.ID, Since: r.CreatedAt})
		fail.If(err, "trace of "+name)
		want := []admin.GroupTrace{{Group: testGroup, State: states[name]}}
		if len(trace.Messages) != 1 || !slices.Equal(trace.Messages[0].Groups, want) || sameRecord(&trace.Messages[0].Record, &r) != nil {
			fail.With("trace of %s: %+v, want %+v", name, trace.Messages, want)
		}
		if held, dead := states[name] == admin.TraceHeld, states[name] == admin.TraceDead; (len(trace.Held) == 1) != held || (len(trace.Dead) == 1) != dead {
			fail.With("trace of %s: held %+v, dead %+v, want %s", name, trace.Held, trace.Dead, states[name])
		}
		if name == "c" && (len(trace.Audit) == 0 || trace.Audit[len(trace.Audit)-1].Action != "drop") {
			fail.With("trace of c: audit %+v, want the drop", trace.Audit)
		}
	}
	traceByTime(ctx, tr, searcher)
}

// traceByTime traces a message whose id contains no time.
func traceByTime(ctx context.Context, tr *trial, searcher admin.Manager) {
	msgs := named("x")
	msgs[0].ID = "invoice 7"
	later := 0
	if !tr.features.NoDelay {
		msgs, later = append(msgs, msgs[0]), 1
		msgs[1].NotBefore = time.Now().Add(time.Hour)
	}
	tr.commit(ctx, msgs...)
	for _, q := range []admin.TraceQuery{{}, {ID: "invoice 7"}} {
		_, err := searcher.Trace(ctx, q)
		expectError(fmt.Sprintf("trace %+v", q), err, admin.ErrInvalidRequest)
	}
	trace, err := searcher.Trace(ctx, admin.TraceQuery{ID: "invoice 7", Since: time.Now().Add(-time.Hour)})
	if err != nil || len(trace.Messages) != 1 || len(trace.Delayed) != later {
		fail.With("trace of an invoice: %+v, want one that is due and %d that are not: %w", trace, later, errors.Join(err, errWrongAnswer))
	}
}

// mostTraced is the largest number of messages in a trace.
const mostTraced = 100

// traceIsBounded traces an id that more messages have: any producer can choose ids.
func traceIsBounded(ctx context.Context, tr *trial) {
	searcher, ok := tr.Subject.(admin.Manager)
	if !ok {
		return
	}
	msgs := make([]outbox.Message, mostTraced+1)
	for i := range msgs {
		msgs[i] = outbox.Message{ID: "of all", Topic: testTopic, Payload: []byte(strconv.Itoa(i))}
	}
	tr.commit(ctx, msgs...)
	trace, err := searcher.Trace(ctx, admin.TraceQuery{ID: "of all", Since: time.Now().Add(-time.Hour)})
	fail.If(err, "trace")
	if len(trace.Messages) != mostTraced {
		fail.With("trace of an id: %d messages, want the first %d of %d", len(trace.Messages), mostTraced, len(msgs))
	}
	for i, m := range trace.Messages {
		if string(m.Payload) != strconv.Itoa(i) {
			fail.With("trace of an id: message %d is %s, want the first ones in their order", i, m.Payload)
		}
	}
}

// traceBoundsWhatIsSetAside traces ids of more records than a trace lists, all of which are held
// or dead: it lists the first ones, and those of its messages.
func traceBoundsWhatIsSetAside(ctx context.Context, tr *trial) {
	searcher, ok := tr.Subject.(admin.Manager)
	if !ok {
		return
	}
	fates := map[string]driver.Holding{}
	var names []string
	for range 2 { // enqueued at two times
		var msgs []outbox.Message
		for id, fate := range map[string]driver.Fate{"held": driver.FatePark, "dead": driver.FateDead} {
			for _, name := range numbered(id+strconv.Itoa(len(names)), mostTraced) {
				fates[name] = driver.Holding{Fate: fate, Attempts: failedOf(outbox.FailurePermanent, tooLarge)}
				names = append(names, name)
				msgs = append(msgs, outbox.Message{ID: id, Topic: testTopic, Payload: []byte(name)})
			}
		}
		tr.commit(ctx, msgs...)
		fail.If(pause(ctx))
	}
	tr.holder(ctx).hold(ctx, fates, names...)
	all, err := searchAll(ctx, searcher, admin.MessageQuery{OmitPayload: true})
	if err != nil || len(all) != len(names) {
		fail.With("search: %d, want %d: %w", len(all), len(names), errors.Join(err, errWrongAnswer))
	}
	for id, state := range map[string]admin.TraceState{"held": admin.TraceHeld, "dead": admin.TraceDead} {
		for what, since := range map[string]time.Time{"all": all[0].CreatedAt, "the later ones": all[2*mostTraced].CreatedAt} {
			found, err := searcher.Trace(ctx, admin.TraceQuery{ID: id, Since: since})
			fail.If(err, "trace of "+id)
			for i := range found.Messages {
				if m := &found.Messages[i]; len(m.Groups) != 1 || m.Groups[0].State != state {
					fail.With("trace of %s, %s: message %s is %+v, want %s", id, what, m.Payload, m.Groups, state)
				}
			}
			listed := slices.Concat(found.Held, found.Dead)
			if n := len(listed); len(found.Messages) != mostTraced || n < mostTraced || n > 2*mostTraced || what == "all" && n > mostTraced {
				fail.With("trace of %s, %s: %d are set aside, %d messages, want the first %d", id, what, n, len(found.Messages), mostTraced)
			}
		}
	}
}

// mostListed is the largest number of entries in one answer of an Admin.
const mostListed = 10_000

// operator requests changes to the records that relays of testGroup have set aside.
type operator struct {
	admin.Outbox
}

// operator returns an operator of the subject.
func (tr *trial) operator() operator {
	a, ok := tr.Subject.(admin.Outbox)
	if !ok {
		fail.Now(errNoAdmin)
	}
	return operator{a}
}

// by is the requester and the reason.
func by() admin.By {
	return admin.By{Actor: "ann", Reason: "the topic exists now"}
}

func ofKey(key driver.Key) admin.Selection {
	return admin.Selection{Topic: key.Topic, Key: key.Key}
}

// redrive redrives what is selected.
func (o operator) redrive(ctx context.Context, sel admin.Selection) error {
	_, err := o.Redrive(ctx, admin.ChangeRequest{By: by(), Group: testGroup, Selection: sel})
	return err
}

// drop drops what is selected.
func (o operator) drop(ctx context.Context, sel admin.Selection) error {
	_, err := o.Drop(ctx, admin.ChangeRequest{By: by(), Group: testGroup, Selection: sel})
	return err
}

// skipHead drops the first record of key.
func (o operator) skipHead(ctx context.Context, key driver.Key) error {
	_, err := o.SkipHead(ctx, admin.SkipHeadRequest{By: by(), Group: testGroup, Key: key})
	return err
}

// skipNamed drops the first record of the key "k" if it has the id.
func (o operator) skipNamed(ctx context.Context, id string, dry bool) (admin.Changed, error) {
	return o.SkipHead(ctx, admin.SkipHeadRequest{By: by(), Group: testGroup, Key: testKey("k"), ID: id, DryRun: dry})
}

// skipped returns the ids of the records that relays have skipped, in the order of the skips.
func (o operator) skipped(ctx context.Context) ([]string, error) {
	entries, err := o.Audit(ctx, admin.AuditQuery{Group: testGroup, Action: driver.FateSkip.String(), Limit: mostListed})
	var ids []string
	for i := range entries {
		ids = append(ids, entries[i].ID)
	}
	return ids, err
}

// parked lists records that are parked, or wait behind one.
func (o operator) parked(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	q.State = admin.HeldParked
	return o.Held(ctx, q)
}

// lister is a method of admin.Outbox that lists records.
type lister func(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error)

// expectAside expects list to return exactly these records.
func expectAside(ctx context.Context, what string, list lister, names []string) []admin.HeldRecord {
	all, err := list(ctx, admin.HeldQuery{Group: testGroup, Limit: mostListed})
	fail.If(err, what)
	records := make([]outbox.Record, len(all))
	for i := range all {
		records[i] = all[i].Record
	}
	fail.In(what, func() { expect(records, names...) })
	return all
}

// errorsOf returns the texts of the errors of h.
func errorsOf(h *admin.HeldRecord) []string {
	texts := make([]string, len(h.Errors))
	for i := range h.Errors {
		texts[i] = h.Errors[i].Error
	}
	return texts
}
