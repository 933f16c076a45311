package outboxtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

func replayChecks() []Check {
	return unless(
		noReplay,
		Check{Name: "O4_ReplaySendsWhatWasSent", run: replaySendsWhatWasSent},
		Check{Name: "O4_ReplaySelects", run: replaySelects},
		Check{Name: "O2_ReplayResumes", run: replayResumes},
		Check{Name: "O2_ReplayIsOfOneMoment", run: replayIsOfOneMoment},
		Check{Name: "O2_ReplayRefusesWhatIsNoPosition", run: replayRefusesPositions},
		Check{Name: "O12_ReplayDisturbsNobody", run: replayDisturbsNobody},
		Check{Name: "Admin_ReplayHasBounds", run: replayHasBounds},
		Check{Name: "Admin_ReplayIsAudited", run: replayIsAudited},
		Check{Name: "O2_ReplayTellsOfGaps", run: replayTellsOfGaps},
		Check{Name: "O2_ReplayBeginsWithWhatIsRetained", run: replayOfWhatIsRetained},
	)
}

func noReplay(f Features) bool { return f.NoReplay }

// replaySendsWhatWasSent reads everything twice: through a session and through history.
func replaySendsWhatWasSent(ctx context.Context, tr *trial) {
	msgs := tricky()
	for len(msgs) > 0 {
		n := min(len(msgs), 4)
		tr.commit(ctx, msgs[:n]...)
		msgs = msgs[n:]
	}
	fail.If(tr.finish(ctx, false, named("rolled back")...))
	sent := tr.readAll(ctx)
	for _, limit := range []int{1, 5, 100} {
		got := tr.replayed(ctx, Selection{}, "", limit)
		fail.If(sameRecords(got, sent), fmt.Sprintf("pages of %d", limit))
	}
}

func replaySelects(ctx context.Context, tr *trial) {
	for i := range 10 {
		m := outbox.Message{Topic: fmt.Sprintf("t.%d", i%2), Key: fmt.Sprintf("k%d", i%3), Payload: fmt.Appendf(nil, "%d", i)}
		tr.commit(ctx, m)
	}
	sent := tr.readAll(ctx)
	if len(sent) != 10 {
		fail.With("read %s, want ten", describe(sent))
	}
	for _, c := range []struct {
		what string
		s    Selection
		want string
	}{
		{"all", Selection{}, "0123456789"},
		{"from a number", Selection{FromSeq: sent[7].Seq}, "789"},
		{"from behind a number", Selection{FromSeq: sent[7].Seq + 1}, "89"},
		{"to a number", Selection{ToSeq: sent[2].Seq}, "012"},
		{"between two numbers", Selection{FromSeq: sent[3].Seq, ToSeq: sent[5].Seq}, "345"},
		{"one number", Selection{FromSeq: sent[4].Seq, ToSeq: sent[4].Seq}, "4"},
		{"from behind the last number", Selection{FromSeq: sent[9].Seq + 1}, ""},
		{"to more than there is", Selection{ToSeq: sent[9].Seq + 1000}, "0123456789"},
		{"a topic", Selection{Topics: []string{"x", "*.1"}}, "13579"},
		{"no such topic", Selection{Topics: []string{"t"}}, ""},
		{"both", Selection{FromSeq: sent[4].Seq, Topics: []string{"t.0"}}, "468"},
	} {
		var got []outbox.Record
		fail.In(c.what, func() { got = tr.replayed(ctx, c.s, "", 3) })
		if text := strings.Join(names(got), ""); text != c.want {
			fail.With("selected %s: replayed %q, want %q", c.what, text, c.want)
		}
	}
}

// replayResumes stops after each record, and also before the first.
func replayResumes(ctx context.Context, tr *trial) {
	want := numbered("m", 6)
	for _, name := range want {
		tr.commit(ctx, append(keyed("k", name), about("other")...)...)
	}
	s := Selection{Topics: []string{testTopic}}
	p := tr.playback(ctx, s, "")
	positions := []string{p.Position()}
	for len(positions) <= len(want) {
		page, err := p.Read(ctx, 4)
		fail.If(err, "read of history")
		if len(page) == 0 {
			fail.With("read of history: %d records, want %d", len(positions)-1, len(want))
		}
		for i := range page {
			positions = append(positions, p.PositionAfter(&page[i]))
		}
	}
	for done, position := range positions {
		if position == "" {
			fail.With("after %d of %d records: the position is empty", done, len(want))
		}
		var got []outbox.Record
		fail.In(fmt.Sprintf("resumed after %d of %d records", done, len(want)), func() { got = tr.replayed(ctx, s, position, 2) })
		fail.In(fmt.Sprintf("resumed after %d of %d records", done, len(want)), func() { expect(got, want[done:]...) })
	}
}

// replayIsOfOneMoment commits during a replay, including a low number: none of it is part of the
// replay, nor of the resumed one.
func replayIsOfOneMoment(ctx context.Context, tr *trial) {
	tr.commit(ctx, keyed("k", numbered("m", 3)...)...)
	commitSlow := tr.openLate(ctx, keyed("slow", "slow")...)
	tr.commit(ctx, keyed("k", numbered("m", 5)[3:]...)...)
	p := tr.playback(ctx, Selection{}, "")
	page, err := p.Read(ctx, 2)
	fail.If(err, "read of history")
	expect(page, "m-1", "m-2")
	position := p.PositionAfter(&page[1])
	commitSlow(ctx)
	tr.commit(ctx, keyed("k", "since")...)
	rest, err := p.Read(ctx, 10)
	fail.If(err, "read of history")
	fail.In("under way while more committed", func() { expect(rest, "m-3", "m-4", "m-5") })
	resumed := tr.replayed(ctx, Selection{}, position, 10)
	fail.In("resumed after more has committed", func() { expect(resumed, "m-3", "m-4", "m-5") })
	all := tr.replayed(ctx, Selection{}, "", 10)
	expectSet(all, append(numbered("m", 5), "slow", "since"))
}

func replayRefusesPositions(ctx context.Context, tr *trial) {
	tr.commit(ctx, named("m")...)
	p := tr.playback(ctx, Selection{}, "")
	good := p.Position()
	for _, position := range []string{"x", "/", good[:len(good)/2], good + "x"} {
		err := fail.Caught(func() { tr.playback(ctx, Selection{}, position) })
		expectError(fmt.Sprintf("begin of a replay at %q", position), err, outbox.ErrInvalidConfig)
	}
}

// replayDisturbsNobody replays while a relay runs: it delivers new records once, and what it has
// settled stays settled.
func replayDisturbsNobody(ctx context.Context, tr *trial) {
	want := numbered("m", 12)
	tr.commit(ctx, keyed("k", want...)...)
	relayed, replayedTo := NewBroker(), NewBroker()
	run := tr.start(ctx, tr.Source(testGroup), relayed.Sink(), smallPages())
	relayed.await(ctx, len(want))
	history := tr.history(Selection{})
	pages := 0
	report, err := relay.Replay(ctx, history, replayedTo.Sink(), relay.ReplayConfig{
		Actor: "outboxtest", Reason: "a check", PageSize: 4,
		Progress: func(ctx context.Context, _ relay.ReplayReport) {
			pages++
			relayed.await(ctx, len(want)+pages-1)
			tr.commit(ctx, keyed("k", fmt.Sprintf("new-%d", pages))...)
			tr.Wake()
		},
	})
	fail.If(err, "replay")
	if !report.Done || report.Sent != int64(len(want)) {
		fail.With("replay: done %t, %d sent, want all %d", report.Done, report.Sent, len(want))
	}
	fail.In("replay", func() { expect(replayedTo.Log(), want...) })
	want = append(want, numbered("new", pages)...)
	relayed.await(ctx, len(want), "the relay after the replay")
	run.stop()
	fail.In("after the replay", func() { tr.expectOnce(ctx, relayed.Sink(), 0) })
	expect(relayed.Log(), want...)
}

// dropper commits and settles records of these names, and returns their numbers and a function
// that drops the first two thirds of them. Both are nil if the subject cannot drop history.
func (tr *trial) dropper(ctx context.Context, names []string) (drop func(), seqs []int64) {
	d, ok := tr.Subject.(HistoryDropper)
	if !ok {
		return nil, nil
	}
	for _, name := range names {
		tr.commit(ctx, keyed("k", name)...)
	}
	settled := tr.readAll(ctx)
	expect(settled, names...)
	for i := range settled {
		seqs = append(seqs, settled[i].Seq)
	}
	return func() { fail.If(d.DropHistory(ctx, seqs[len(seqs)*2/3-1]), "drop") }, seqs
}

// replayTellsOfGaps drops two thirds of history, if the subject can, during a replay that has
// sent its first page.
func replayTellsOfGaps(ctx context.Context, tr *trial) {
	names := numbered("m", 30)
	drop, seqs := tr.dropper(ctx, names)
	if drop == nil {
		return
	}
	history := tr.history(Selection{})
	broker := NewBroker()
	cfg := relay.ReplayConfig{Actor: "outboxtest", Reason: "a check", PageSize: 3}
	cfg.Progress = func(context.Context, relay.ReplayReport) {
		if drop != nil {
			drop()
			drop = nil
		}
	}
	report, err := relay.Replay(ctx, history, broker.Sink(), cfg)
	fail.In("history was dropped under it, sent "+describe(broker.Log()), func() { expectGap(err, seqs[3], seqs[19], seqs[20]) })
	expect(broker.Log(), names[:3]...)
	cfg.Position = report.Position
	_, err = relay.Replay(ctx, history, broker.Sink(), cfg)
	fail.In("resumed", func() { expectGap(err, seqs[3], seqs[19], seqs[20]) })
	cfg.SkipGaps = true
	report, err = relay.Replay(ctx, history, broker.Sink(), cfg)
	fail.If(err, "resumed behind the gap")
	if !report.Done || len(report.Gaps) == 0 {
		fail.With("resumed behind the gap: done %t, gaps %v", report.Done, report.Gaps)
	}
	expect(broker.Log(), append(names[:3:3], names[20:]...)...)
}

// expectGap expects an error that names all numbers from first to last, and none that is
// retained.
func expectGap(err error, first, last, retained int64) {
	gap, ok := errors.AsType[*driver.HistoryGapError](err)
	switch {
	case !ok || !errors.Is(err, driver.ErrHistoryGap):
		fail.Now(unexpected("replay of what is no longer retained", err, driver.ErrHistoryGap))
	case gap.From > first || gap.To < last || gap.To >= retained:
		fail.With("gap of numbers %d to %d, want %d to %d", gap.From, gap.To, first, last)
	}
}

// replayOfWhatIsRetained begins after what was dropped, which is not a gap, since it was not
// requested by number.
func replayOfWhatIsRetained(ctx context.Context, tr *trial) {
	names := numbered("m", 9)
	drop, _ := tr.dropper(ctx, names)
	if drop == nil {
		return
	}
	drop()
	expect(tr.replayed(ctx, Selection{}, "", 2), names[6:]...)
}

// replayHasBounds replays parts of the log, and expects that a replay with bounds keeps within
// them, and that they match the request.
func replayHasBounds(ctx context.Context, tr *trial) {
	for _, name := range numbered("m", 5) {
		tr.commit(ctx, keyed("k", name)...)
	}
	all := tr.readAll(ctx)
	expect(all, numbered("m", 5)...)
	for _, c := range []struct {
		s           Selection
		first, last int64 // 0: any bounds that contain all records
		sent        int64
	}{
		{Selection{FromSeq: all[1].Seq, ToSeq: all[3].Seq}, all[1].Seq, all[3].Seq, 3},
		{Selection{FromSeq: all[4].Seq}, all[4].Seq, 0, 1},
		{Selection{}, 0, 0, 5},
	} {
		report := tr.replayBounded(ctx, c.s)
		if report.EndSeq == 0 {
			return // the source does not know
		}
		if report.Sent != c.sent || c.first != 0 && report.FirstSeq != c.first || c.last != 0 && report.EndSeq != c.last+1 {
			fail.With("replay of %+v: sent %d from %d to before %d, want %d from %d to %d",
				c.s, report.Sent, report.FirstSeq, report.EndSeq, c.sent, c.first, c.last)
		}
		for i := range all[:c.sent] {
			if seq := all[len(all)-1-i].Seq; c.last == 0 && (seq < report.FirstSeq || seq >= report.EndSeq) {
				fail.With("replay of %+v: from %d to before %d, but it sends %d", c.s, report.FirstSeq, report.EndSeq, seq)
			}
		}
	}
}

// replayBounded replays s.
func (tr *trial) replayBounded(ctx context.Context, s Selection) relay.ReplayReport {
	report, err := relay.Replay(ctx, tr.history(s), NewBroker().Sink(), relay.ReplayConfig{Actor: "outboxtest", Reason: "a check"})
	fail.If(err)
	return report
}

// replayIsAudited replays until a record is refused, and then after it.
func replayIsAudited(ctx context.Context, tr *trial) {
	op := tr.operator()
	if tr.features.NoHolder {
		return
	}
	tr.commit(ctx, keyed("k", "a", "b", "c")...)
	h := tr.history(Selection{})
	began, err := op.Audit(ctx, admin.AuditQuery{})
	fail.If(err, "audit")
	cfg := relay.ReplayConfig{Actor: by().Actor, Reason: by().Reason, PageSize: 1}
	stopped, err := relay.Replay(ctx, h, refusing("b"), cfg)
	expectError("replay of a record that is refused", err, relay.ErrReplayStopped)
	cfg.SkipFailed, cfg.Position = true, stopped.Position
	done, err := relay.Replay(ctx, h, refusing("b"), cfg)
	fail.If(err)
	entries, err := op.Audit(ctx, admin.AuditQuery{})
	if err != nil || len(entries) != len(began)+4 {
		fail.With("audit: %d entries, want 4 more than %d, two for each replay: %w", len(entries), len(began), errors.Join(err, errWrongAnswer))
	}
	for i, want := range []endOfReplay{{}, {Sent: 1, Position: stopped.Position}, {}, {Sent: 1, Skipped: 1, Position: done.Position, Done: true}} {
		want.check(entries[len(began)+i], i%2 == 1)
	}
}

// endOfReplay is the audit entry of the end of a replay.
type endOfReplay struct {
	Sent, Skipped   int64
	Position, Error string
	Done            bool
}

func (want endOfReplay) check(e admin.AuditEntry, end bool) {
	action := "replay"
	if end {
		action = "replay_end"
	}
	if e.Action != action || e.Actor != by().Actor || e.Reason != by().Reason {
		fail.With("audit: %+v, want %s", e, action)
	}
	if !end {
		return
	}
	var got endOfReplay
	err := json.Unmarshal(e.Details, &got)
	if stopped := got.Error != ""; err != nil || stopped == want.Done {
		fail.With("audit: %s, want an error if the replay has stopped: %w", e.Details, errors.Join(err, errWrongAnswer))
	}
	if got.Error = ""; got != want {
		fail.With("audit: the end of the replay is %+v, want %+v", got, want)
	}
}

// refusing is a sink that never accepts the record called name.
type refusing string

// Send implements driver.Sink.
func (r refusing) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	results := make([]outbox.Result, len(records))
	for i := range records {
		if string(records[i].Payload) == string(r) {
			results[i] = outbox.Failed(outbox.FailurePermanent, errRefused)
		}
	}
	return results
}

var errRefused = errors.New("refused")

var errNoReplayer = errors.New("the subject is not a Replayer; say Features.NoReplay")

// playback begins a replay of s at position, which is empty for a new one.
func (tr *trial) playback(ctx context.Context, s Selection, position string) driver.Playback {
	history := tr.history(s)
	p, err := history.Begin(ctx, driver.ReplayOrder{Position: position, Actor: "outboxtest", Reason: "a check"})
	fail.If(err, "begin")
	tr.cleanup(func() { _ = p.Close(context.WithoutCancel(ctx)) })
	return p
}

func (tr *trial) history(s Selection) driver.History {
	r, ok := tr.Subject.(Replayer)
	if !ok {
		fail.Now(errNoReplayer)
	}
	h, err := r.History(s)
	fail.If(err, "history")
	return h
}

// replayed returns all of s, in pages of limit. The records are copies.
func (tr *trial) replayed(ctx context.Context, s Selection, position string, limit int) []outbox.Record {
	p := tr.playback(ctx, s, position)
	var all []outbox.Record
	for len(all) < mostRecords {
		page, err := p.Read(ctx, limit)
		switch {
		case err != nil:
			fail.With("read of history: %w", err)
		case len(page) > limit:
			fail.With("read of history: %d records in a page of at most %d", len(page), limit)
		case len(page) == 0:
			fail.If(p.Close(ctx))
			return all
		}
		all = append(all, cloned(page)...)
	}
	fail.Now(errNoEnd)
	return all
}

func cloned(page []outbox.Record) []outbox.Record {
	all := slices.Clone(page)
	for i := range all {
		all[i].Payload = slices.Clone(all[i].Payload)
	}
	return all
}

func sameRecords(got, want []outbox.Record) error {
	if len(got) != len(want) {
		return fmt.Errorf("replayed %d records, want %d: %s", len(got), len(want), describe(got))
	}
	for i := range want {
		if err := sameRecord(&want[i], &got[i]); err != nil {
			return fmt.Errorf("record %q: sent and replayed: %w", want[i].ID, err)
		}
	}
	return nil
}
