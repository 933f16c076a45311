package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/replay"
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
	)
}

func noReplay(f Features) bool { return f.NoReplay }

// replaySendsWhatWasSent reads everything twice: through a session and through history.
func replaySendsWhatWasSent(ctx context.Context, tr *trial) error {
	msgs := tricky()
	for len(msgs) > 0 {
		n := min(len(msgs), 4)
		if err := tr.commit(ctx, msgs[:n]...); err != nil {
			return err
		}
		msgs = msgs[n:]
	}
	if err := tr.finish(ctx, false, named("rolled back")...); err != nil {
		return err
	}
	sent, err := tr.readAll(ctx)
	if err != nil {
		return err
	}
	for _, limit := range []int{1, 5, 100} {
		got, err := tr.replayed(ctx, Selection{}, "", limit)
		if err != nil {
			return err
		}
		if err := sameRecords(got, sent); err != nil {
			return fmt.Errorf("pages of %d: %w", limit, err)
		}
	}
	return nil
}

func replaySelects(ctx context.Context, tr *trial) error {
	for i := range 10 {
		m := outbox.Message{Topic: fmt.Sprintf("t.%d", i%2), Key: fmt.Sprintf("k%d", i%3), Payload: fmt.Appendf(nil, "%d", i)}
		if err := tr.commit(ctx, m); err != nil {
			return err
		}
	}
	sent, err := tr.readAll(ctx)
	if err != nil {
		return err
	}
	if len(sent) != 10 {
		return fmt.Errorf("read %s, want ten", describe(sent))
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
		got, err := tr.replayed(ctx, c.s, "", 3)
		if err != nil {
			return fmt.Errorf("%s: %w", c.what, err)
		}
		if text := strings.Join(names(got), ""); text != c.want {
			return fmt.Errorf("selected %s: replayed %q, want %q", c.what, text, c.want)
		}
	}
	return nil
}

// replayResumes stops behind each record, and also before the first.
func replayResumes(ctx context.Context, tr *trial) error {
	want := numbered("m", 6)
	for _, name := range want {
		if err := tr.commit(ctx, append(keyed("k", name), about("other")...)...); err != nil {
			return err
		}
	}
	s := Selection{Topics: []string{testTopic}}
	p, err := tr.playback(ctx, s, "")
	if err != nil {
		return err
	}
	positions := []string{p.Position()}
	for len(positions) <= len(want) {
		page, err := p.Read(ctx, 4)
		if err != nil {
			return fmt.Errorf("read of history: %w", err)
		}
		if len(page) == 0 {
			return fmt.Errorf("read of history: %d records, want %d", len(positions)-1, len(want))
		}
		for i := range page {
			positions = append(positions, p.PositionAfter(&page[i]))
		}
	}
	for done, position := range positions {
		if position == "" {
			return fmt.Errorf("after %d of %d records: the position is empty", done, len(want))
		}
		got, err := tr.replayed(ctx, s, position, 2)
		if err != nil {
			return fmt.Errorf("resumed after %d of %d records: %w", done, len(want), err)
		}
		if err := expect(got, want[done:]...); err != nil {
			return fmt.Errorf("resumed after %d of %d records: %w", done, len(want), err)
		}
	}
	return nil
}

// replayIsOfOneMoment commits under a replay, also a low number: neither is part of it,
// nor of what it is resumed as.
func replayIsOfOneMoment(ctx context.Context, tr *trial) error {
	if err := tr.commit(ctx, keyed("k", numbered("m", 3)...)...); err != nil {
		return err
	}
	commitSlow, err := tr.openLate(ctx, keyed("slow", "slow")...)
	if err != nil {
		return err
	}
	if err := tr.commit(ctx, keyed("k", numbered("m", 5)[3:]...)...); err != nil {
		return err
	}
	p, err := tr.playback(ctx, Selection{}, "")
	if err != nil {
		return err
	}
	page, err := p.Read(ctx, 2)
	if err != nil {
		return fmt.Errorf("read of history: %w", err)
	}
	if err := expect(page, "m-1", "m-2"); err != nil {
		return err
	}
	position := p.PositionAfter(&page[1])
	if err := errors.Join(commitSlow(ctx), tr.commit(ctx, keyed("k", "since")...)); err != nil {
		return err
	}
	rest, err := p.Read(ctx, 10)
	if err != nil {
		return fmt.Errorf("read of history: %w", err)
	}
	if err := expect(rest, "m-3", "m-4", "m-5"); err != nil {
		return fmt.Errorf("under way while more committed: %w", err)
	}
	resumed, err := tr.replayed(ctx, Selection{}, position, 10)
	if err != nil {
		return err
	}
	if err := expect(resumed, "m-3", "m-4", "m-5"); err != nil {
		return fmt.Errorf("resumed after more has committed: %w", err)
	}
	all, err := tr.replayed(ctx, Selection{}, "", 10)
	if err != nil {
		return err
	}
	return expectSet(all, append(numbered("m", 5), "slow", "since"))
}

func replayRefusesPositions(ctx context.Context, tr *trial) error {
	if err := tr.commit(ctx, named("m")...); err != nil {
		return err
	}
	p, err := tr.playback(ctx, Selection{}, "")
	if err != nil {
		return err
	}
	good := p.Position()
	for _, position := range []string{"x", "/", good[:len(good)/2], good + "x"} {
		if _, err := tr.playback(ctx, Selection{}, position); !errors.Is(err, outbox.ErrInvalidConfig) {
			return unexpected(fmt.Sprintf("begin of a replay at %q", position), err, outbox.ErrInvalidConfig)
		}
	}
	return nil
}

// replayDisturbsNobody replays while a relay runs: it delivers what comes, once, and what
// it has settled stays settled.
func replayDisturbsNobody(ctx context.Context, tr *trial) error {
	want := numbered("m", 12)
	if err := tr.commit(ctx, keyed("k", want...)...); err != nil {
		return err
	}
	relayed, replayedTo := NewBroker(), NewBroker()
	run, err := tr.start(ctx, tr.Source(testGroup), relayed.Sink(), smallPages())
	if err != nil {
		return err
	}
	if _, err := relayed.AwaitDistinct(ctx, len(want)); err != nil {
		return err
	}
	history, err := tr.history(Selection{})
	if err != nil {
		return err
	}
	pages := 0
	var failed error
	report, err := replay.Run(ctx, history, replayedTo.Sink(), replay.Config{
		Actor: "outboxtest", Reason: "a check", PageSize: 4,
		Progress: func(ctx context.Context, _ replay.Report) {
			pages++
			_, err := relayed.AwaitDistinct(ctx, len(want)+pages-1)
			failed = errors.Join(failed, err, tr.commit(ctx, keyed("k", fmt.Sprintf("new-%d", pages))...))
			tr.Wake()
		},
	})
	if err := errors.Join(err, failed); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	if !report.Done || report.Sent != int64(len(want)) {
		return fmt.Errorf("replay: done %t, %d sent, want all %d", report.Done, report.Sent, len(want))
	}
	if err := expect(replayedTo.Log(), want...); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	want = append(want, numbered("new", pages)...)
	if _, err := relayed.AwaitDistinct(ctx, len(want)); err != nil {
		return fmt.Errorf("the relay after the replay: %w", err)
	}
	if err := run.stop(); err != nil {
		return err
	}
	if err := tr.expectOnce(ctx, relayed.Sink(), 0); err != nil {
		return fmt.Errorf("after the replay: %w", err)
	}
	return expect(relayed.Log(), want...)
}
