package outboxtest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

func parkedChecks() []Check {
	return unless(
		noHolder,
		Check{Name: "O6_ParkedIsNeverDue", run: parkedIsNeverDue},
		Check{Name: "O6_RedriveKeepsTheOrder", run: redriveKeepsTheOrder},
		Check{Name: "O6_ParkedAfterRetries", run: parkedAfterRetries},
		Check{Name: "O6_UnorderedIsHeldAlone", run: unorderedIsHeldAlone},
		Check{Name: "O6_DroppedKeyHealsItself", run: droppedKeyHealsItself},
		Check{Name: "O6_SkipHeadGoesOn", run: skipHeadGoesOn},
		Check{Name: "O6_SkipHeadSparesOthers", run: skipHeadSparesOthers},
		Check{Name: "O6_RetriedIsChanged", run: retriedIsChanged},
		Check{Name: "O6_DeadAndSkippedGoOn", run: deadAndSkippedGoOn},
		Check{Name: "O6_IdleReadKnowsWhatIsHeld", run: idleReadKnowsWhatIsHeld},
	)
}

// parkKey commits a, b and c of key k, parks a after two failures and holds the others behind it.
func parkKey(ctx context.Context, tr *trial) *setAside {
	tr.commit(ctx, keyed("k", "a", "b", "c")...)
	s := tr.holder(ctx)
	s.hold(ctx, map[string]driver.Holding{
		"a": {Fate: driver.FatePark, Attempts: failed(2), Reason: "tried too often"},
		"b": {Fate: driver.FateWait}, "c": {Fate: driver.FateWait},
	}, "a", "b", "c")
	return s
}

func parkedIsNeverDue(ctx context.Context, tr *trial) {
	s := parkKey(ctx, tr)
	s = tr.next(ctx, s)
	s.expectHeld(ctx, testKey("k"))
	fail.In("while the key is parked", func() { s.expectDue(ctx) })
	all := s.expectParked(ctx, "a", "b", "c")
	first, second := all[0], all[1]
	if first.Waits || !second.Waits || first.Attempts != 2 || first.Reason != "tried too often" ||
		!slices.Equal(errorsOf(&first), []string{"error 1", "error 2"}) || second.Attempts != 0 {
		fail.With("parked: %+v and %+v behind it", first, second)
	}
	// Later records queue up behind it.
	tr.commit(ctx, keyed("k", "d")...)
	s.hold(ctx, map[string]driver.Holding{"d": {Fate: driver.FateWait}}, "d")
	fail.In("while the key is parked", func() { s.expectDue(ctx) })
	s.expectParked(ctx, "a", "b", "c", "d")
}

func redriveKeepsTheOrder(ctx context.Context, tr *trial) {
	s := parkKey(ctx, tr)
	if err := s.op.redrive(ctx, ofKey(testKey("l"))); err == nil {
		fail.With("redrive of a key that is not parked: %w", errNoError)
	}
	fail.If(s.op.redrive(ctx, ofKey(testKey("k"))), "redrive")
	var due []driver.Held
	fail.In("after a redrive", func() { due = s.expectDue(ctx, "a", "b", "c") })
	if due[0].Attempts != 0 {
		fail.With("after a redrive: %d attempts, want 0", due[0].Attempts)
	}
	// It fails again, and is parked again: its earlier errors are still known.
	again := driver.Verdict{Fate: driver.FatePark, Attempts: failed(1), Reason: "again"}
	s.resolve(ctx, due, []driver.Verdict{again})
	fail.In("parked again", func() { s.expectDue(ctx) })
	all := s.expectParked(ctx, "a", "b", "c")
	if got := all[0]; len(got.Errors) != 3 || got.Attempts != 1 || got.Reason != "again" {
		fail.With("parked again: %+v, want 3 errors, 1 attempt", got)
	}
	fail.If(s.op.redrive(ctx, admin.Selection{ID: all[0].ID}), "redrive by id")
	fail.In("after a redrive by id", func() { due = s.expectDue(ctx, "a", "b", "c") })
	s.deliver(ctx, due, testKey("k"))
}

// parkedAfterRetries parks the first of a key that was being retried.
func parkedAfterRetries(ctx context.Context, tr *trial) {
	tr.commit(ctx, keyed("k", "a", "b")...)
	s := tr.holder(ctx)
	s.hold(ctx, map[string]driver.Holding{
		"a": {Fate: driver.FateRetry, Attempts: failed(2)}, "b": {Fate: driver.FateWait},
	}, "a", "b")
	due := s.expectDue(ctx, "a", "b")
	// The first is delivered, the one behind it is not, and is the first now.
	fates := []driver.Verdict{{Fate: driver.FateDelivered}, {Fate: driver.FatePark, Attempts: failed(3), Reason: "no"}}
	s.resolve(ctx, due, fates)
	s.expectDue(ctx)
	all := s.expectParked(ctx, "b")
	if all[0].Attempts != 3 || all[0].Waits {
		fail.With("parked: %+v, want 3 attempts", all[0])
	}
	s.expectHeld(ctx, testKey("k"))
}

// unorderedIsHeldAlone parks one record without a key, holds another, and delivers the third.
func unorderedIsHeldAlone(ctx context.Context, tr *trial) {
	tr.commit(ctx, named("a", "b", "c")...)
	s := tr.holder(ctx)
	s.hold(ctx, map[string]driver.Holding{
		"a": {Fate: driver.FatePark, Attempts: failed(1)}, "b": {Fate: driver.FateRetry},
	}, "a", "b", "c")
	s.expectHeld(ctx)
	var due []driver.Held
	fail.In("behind a parked record without a key", func() { due = s.expectDue(ctx, "b") })
	s.deliver(ctx, due)
	all := s.expectParked(ctx, "a")
	fail.If(s.op.redrive(ctx, admin.Selection{ID: all[0].ID}), "redrive by id")
	due = s.expectDue(ctx, "a")
	s.deliver(ctx, due)
}

// droppedKeyHealsItself drops a key without the relay's knowledge, which goes on to hold its
// later records.
func droppedKeyHealsItself(ctx context.Context, tr *trial) {
	s := parkKey(ctx, tr)
	fail.If(s.op.drop(ctx, ofKey(testKey("k"))), "drop")
	fail.In("after a drop", func() { s.expectHeld(ctx) })
	tr.commit(ctx, keyed("k", "d", "e")...)
	s.hold(ctx, map[string]driver.Holding{"d": {Fate: driver.FateWait}, "e": {Fate: driver.FateWait}}, "d", "e")
	var due []driver.Held
	fail.In("behind a key that was dropped", func() { due = s.expectDue(ctx, "d", "e") })
	s.deliver(ctx, due, testKey("k"))
}

func skipHeadGoesOn(ctx context.Context, tr *trial) {
	s := parkKey(ctx, tr)
	fail.If(s.op.skipHead(ctx, testKey("k")), "skip the first")
	var due []driver.Held
	fail.In("after the first was skipped", func() { due = s.expectDue(ctx, "b", "c") })
	if err := s.op.skipHead(ctx, testKey("l")); err == nil {
		fail.With("skip of a key that is not held: %w", errNoError)
	}
	s.deliver(ctx, due, testKey("k"))
}

// retriedIsChanged redrives, skips and drops records whose retry is an hour away, while a relay
// has them in flight and while none has. What is redriven is due at once, what is dropped does
// not come back, and the order stays.
func retriedIsChanged(ctx context.Context, tr *trial) {
	tr.commit(ctx, append(keyed("k", "a", "b", "c", "d"), named("u")...)...)
	s := tr.holder(ctx)
	later := driver.Holding{Fate: driver.FateRetry, Attempts: failed(2), RetryIn: time.Hour}
	wait := driver.Holding{Fate: driver.FateWait}
	s.hold(ctx, map[string]driver.Holding{"a": later, "b": wait, "c": wait, "d": wait, "u": later}, "a", "b", "c", "d", "u")
	fail.In("within the hour", func() { s.expectDue(ctx) })
	ids := s.ids(ctx)

	fail.If(s.op.redrive(ctx, ofKey(testKey("k"))), "redrive of a key that is retried")
	fail.If(s.op.redrive(ctx, admin.Selection{ID: ids["u"]}), "redrive of a record that is retried")
	var due []driver.Held
	fail.In("redriven", func() { due = s.expectDue(ctx, "a", "b", "c", "d", "u") })
	if due[0].Attempts != 0 {
		fail.With("redriven: %d attempts, want 0", due[0].Attempts)
	}
	s.resolve(ctx, due[:1], []driver.Verdict{{Fate: driver.FateRetry, Attempts: failed(1), RetryIn: time.Hour}})
	fail.If(s.op.redrive(ctx, admin.Selection{ID: ids["c"]}), "redrive of a record behind one that is retried")
	fail.In("redriven by what waits", func() { due = s.expectDue(ctx, "a", "b", "c", "d", "u") })

	// From here on a relay has them in flight.
	fail.If(s.op.skipHead(ctx, testKey("k")), "skip of the first, which is retried")
	fail.If(s.op.drop(ctx, admin.Selection{ID: ids["c"]}), "drop of a record behind one that is retried")
	fail.If(s.op.drop(ctx, admin.Selection{ID: ids["u"]}), "drop of a record without a key that is retried")
	s.resolve(ctx, []driver.Held{due[0], due[4]}, []driver.Verdict{
		{Fate: driver.FateRetry, Attempts: failed(1)}, {Fate: driver.FatePark, Attempts: failed(1)},
	})
	fail.In("what was dropped while it was under way", func() { s.expectParked(ctx) })
	fail.In("behind what was dropped while it was under way", func() { due = s.expectDue(ctx, "b", "d") })
	s.resolve(ctx, due[:1], []driver.Verdict{{Fate: driver.FateRetry, Attempts: failed(1), RetryIn: time.Hour}})
	fail.If(s.op.drop(ctx, ofKey(testKey("k"))), "drop of a key that is retried")
	s.expectHeld(ctx)
	s.resolve(ctx, due[1:], []driver.Verdict{{Fate: driver.FateDelivered}}, testKey("k"))
	expectFrom(ctx, s, map[string]string{"a": "retry", "b": "retry", "c": "wait", "d": "wait", "u": "retry"}, ids)

	tr.commit(ctx, keyed("k", "e")...)
	s.hold(ctx, map[string]driver.Holding{"e": wait}, "e")
	fail.In("behind a key that was dropped", func() { due = s.expectDue(ctx, "e") })
	s.deliver(ctx, due, testKey("k"))
}

// expectFrom expects the audit to record where records were when an operator dropped them.
func expectFrom(ctx context.Context, s *setAside, want, ids map[string]string) {
	for name, from := range want {
		entries, err := s.op.Audit(ctx, admin.AuditQuery{ID: ids[name]})
		fail.If(err, "audit")
		var details struct {
			From string `json:"from"`
		}
		if len(entries) == 0 || json.Unmarshal(entries[len(entries)-1].Details, &details) != nil || details.From != from ||
			entries[len(entries)-1].Actor != by().Actor {
			fail.With("audit of %q: %+v, want that it was dropped from %q", name, entries, from)
		}
	}
}

// deadAndSkippedGoOn sets the first of each key aside for good, at once and
// after retries.
func deadAndSkippedGoOn(ctx context.Context, tr *trial) {
	tr.commit(ctx, append(keyed("k", "a", "b", "c"), keyed("l", "x", "y", "z")...)...)
	s := tr.holder(ctx)
	s.hold(ctx, map[string]driver.Holding{
		"a": {Fate: driver.FateDead, Attempts: failed(2), Reason: "too large"}, "b": {Fate: driver.FateRetry}, "c": {Fate: driver.FateWait},
		"x": {Fate: driver.FateSkip, Reason: "not wanted"}, "y": {Fate: driver.FateRetry}, "z": {Fate: driver.FateWait},
	}, "a", "b", "c", "x", "y", "z")
	dead := s.expectDead(ctx, "a")
	if got := dead[0]; got.Reason != "too large" || len(got.Errors) != 2 {
		fail.With("dead: %+v", got)
	}
	var due []driver.Held
	fail.In("behind a dead record and a skipped one", func() { due = s.expectDue(ctx, "b", "c", "y", "z") })
	y := due[2]
	s.resolve(ctx, []driver.Held{due[0], y}, []driver.Verdict{
		{Fate: driver.FateDead, Attempts: failed(1), Reason: "no"}, {Fate: driver.FateSkip, Reason: "no"},
	})
	fail.In("behind a dead record and a skipped one", func() { due = s.expectDue(ctx, "c", "z") })
	s.expectDead(ctx, "a", "b")
	skipped, err := s.op.skipped(ctx)
	fail.If(err)
	if len(skipped) != 2 || skipped[1] != y.ID {
		fail.With("skipped: %v, want that of x and %s", skipped, y.ID)
	}
	s.deliver(ctx, due, testKey("k"), testKey("l"))
}

// skipHeadSparesOthers requests to skip a record that is no longer the first of its key, as
// happens if another operator has dealt with records since the list was shown, and then the first
// one.
func skipHeadSparesOthers(ctx context.Context, tr *trial) {
	s := parkKey(ctx, tr)
	all, err := s.op.Held(ctx, admin.HeldQuery{Group: testGroup})
	fail.If(err)
	ids := make(map[string]string)
	for i := range all {
		ids[string(all[i].Payload)] = all[i].ID
	}
	for _, dry := range []bool{true, false} {
		for _, other := range []string{ids["b"], "no such id"} {
			_, err := s.op.skipNamed(ctx, other, dry)
			expectError("skip of another record than the first", err, admin.ErrNotFirst)
			if !strings.Contains(err.Error(), other) || !strings.Contains(err.Error(), ids["a"]) {
				fail.With("skip of %q while %q is the first: the error names not both: %w", other, ids["a"], err)
			}
		}
	}
	fail.In("after the skip was refused", func() { s.expectParked(ctx, "a", "b", "c") })
	changed, err := s.op.skipNamed(ctx, ids["a"], false)
	fail.If(err, "skip of the first by its id")
	if !slices.Equal(changed.IDs, []string{ids["a"]}) {
		fail.With("skip of the first by its id %q has dropped %q: %w", ids["a"], changed.IDs, errWrongAnswer)
	}
	var due []driver.Held
	fail.In("after the first was skipped", func() { due = s.expectDue(ctx, "b", "c") })
	s.deliver(ctx, due, testKey("k"))
}

// idleReadKnowsWhatIsHeld reads while there is nothing to be read, and compares the additional
// information of the page with what is set aside and paused.
func idleReadKnowsWhatIsHeld(ctx context.Context, tr *trial) {
	s := tr.holder(ctx)
	fail.In("at first", func() { s.expectIdle(ctx, false) })
	tr.commit(ctx, keyed("k", "a", "b", "c")...)
	s.hold(ctx, map[string]driver.Holding{"a": {Fate: driver.FatePark, Attempts: failed(1)}, "b": {Fate: driver.FateWait}, "c": {Fate: driver.FateDead}}, "a", "b", "c")
	fail.In("a record is parked", func() { s.expectIdle(ctx, true) })
	fail.If(s.op.drop(ctx, ofKey(testKey("k"))), "drop")
	fail.In("it was dropped", func() { s.expectIdle(ctx, false) })
	dead := s.expectDead(ctx, "c")
	fail.If(s.op.redrive(ctx, admin.Selection{ID: dead[0].ID}), "redrive of a dead record")
	fail.In("a dead record was redriven", func() { s.expectIdle(ctx, true) })
	s.deliver(ctx, s.expectDue(ctx, "c"), testKey("k"))
	pauser, ok := tr.Subject.(admin.Manager)
	if !ok {
		return
	}
	fail.If(pauser.Pause(ctx, admin.PauseRequest{By: by(), Group: testGroup, Topics: []string{"mails.*", "events"}}), "pause")
	fail.In("topics are paused", func() { s.expectIdle(ctx, false, "events", "mails.*") })
	fail.If(pauser.Resume(ctx, admin.PauseRequest{By: by(), Group: testGroup}), "resume")
	fail.In("resumed", func() { s.expectIdle(ctx, false) })
}

// expectIdle reads an empty page. The page must not claim that nothing is set aside if something
// is. If it reports what is paused, that must be right.
func (s *setAside) expectIdle(ctx context.Context, held bool, paused ...string) {
	p := s.reader.page(ctx, 10)
	expect(p.Records)
	if p.Idle != nil && (p.Idle.NoneHeld && held || !slices.Equal(p.Idle.Paused, paused)) {
		fail.With("a read that found nothing tells %+v, want held %t, paused %q: %w", *p.Idle, held, paused, errWrongAnswer)
	}
}
