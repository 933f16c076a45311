package outboxtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/replay"
)

// replayHasBounds replays parts of the log, and expects that a replay which tells its
// bounds keeps within them, and that they are those that were asked for.
func replayHasBounds(ctx context.Context, tr *trial) error {
	for _, name := range numbered("m", 5) {
		if err := tr.commit(ctx, keyed("k", name)...); err != nil {
			return err
		}
	}
	all, err := tr.readAll(ctx)
	if err != nil {
		return err
	}
	if err := expect(all, numbered("m", 5)...); err != nil {
		return err
	}
	for _, c := range []struct {
		s           Selection
		first, last int64 // 0: any that hold all of the records
		sent        int64
	}{
		{Selection{FromSeq: all[1].Seq, ToSeq: all[3].Seq}, all[1].Seq, all[3].Seq, 3},
		{Selection{FromSeq: all[4].Seq}, all[4].Seq, 0, 1},
		{Selection{}, 0, 0, 5},
	} {
		report, known, err := tr.replayBounded(ctx, c.s)
		if err != nil || !known {
			return err
		}
		if report.Sent != c.sent || c.first != 0 && report.FirstSeq != c.first || c.last != 0 && report.EndSeq != c.last+1 {
			return fmt.Errorf("replay of %+v: sent %d from %d to before %d, want %d from %d to %d",
				c.s, report.Sent, report.FirstSeq, report.EndSeq, c.sent, c.first, c.last)
		}
		for i := range all[:c.sent] {
			if seq := all[len(all)-1-i].Seq; c.last == 0 && (seq < report.FirstSeq || seq >= report.EndSeq) {
				return fmt.Errorf("replay of %+v: from %d to before %d, but it sends %d", c.s, report.FirstSeq, report.EndSeq, seq)
			}
		}
	}
	return nil
}

// replayBounded replays s, and reports whether its bounds are known.
func (tr *trial) replayBounded(ctx context.Context, s Selection) (report replay.Report, known bool, err error) {
	p, err := tr.playback(ctx, s, "")
	if err != nil {
		return report, false, err
	}
	if _, known = p.(driver.BoundedPlayback); !known {
		return report, false, nil
	}
	h, err := tr.history(s)
	if err != nil {
		return report, false, err
	}
	report, err = replay.Run(ctx, h, NewBroker().Sink(), replay.Config{Actor: "outboxtest", Reason: "a check"})
	return report, true, err
}

// replayIsAudited replays until a record that is refused, and then behind it.
func replayIsAudited(ctx context.Context, tr *trial) error {
	op, err := tr.operator()
	if err != nil || tr.features.NoHolder {
		return err
	}
	p, err := tr.playback(ctx, Selection{}, "")
	if err != nil {
		return err
	}
	if _, audited := p.(driver.AuditedPlayback); !audited {
		return nil
	}
	if err := tr.commit(ctx, keyed("k", "a", "b", "c")...); err != nil {
		return err
	}
	h, err := tr.history(Selection{})
	if err != nil {
		return err
	}
	began, err := op.Audit(ctx, admin.AuditQuery{})
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	cfg := replay.Config{Actor: by().Actor, Reason: by().Reason, PageSize: 1}
	stopped, err := replay.Run(ctx, h, refusing("b"), cfg)
	if !errors.Is(err, replay.ErrStopped) {
		return unexpected("replay of a record that is refused", err, replay.ErrStopped)
	}
	cfg.SkipFailed, cfg.Position = true, stopped.Position
	done, err := replay.Run(ctx, h, refusing("b"), cfg)
	if err != nil {
		return err
	}
	entries, err := op.Audit(ctx, admin.AuditQuery{})
	if err != nil || len(entries) != len(began)+4 {
		return fmt.Errorf("audit: %d entries, want 4 more than %d, two for each replay: %w", len(entries), len(began), errors.Join(err, errWrongAnswer))
	}
	for i, want := range []endOfReplay{{}, {Sent: 1, Position: stopped.Position}, {}, {Sent: 1, Skipped: 1, Position: done.Position, Done: true}} {
		if err := want.check(entries[len(began)+i], i%2 == 1); err != nil {
			return err
		}
	}
	return nil
}

// endOfReplay is what the audit keeps of the end of a replay.
type endOfReplay struct {
	Sent, Skipped   int64
	Position, Error string
	Done            bool
}

func (want endOfReplay) check(e admin.AuditEntry, end bool) error {
	action := "replay"
	if end {
		action = "replay_end"
	}
	if e.Action != action || e.Actor != by().Actor || e.Reason != by().Reason {
		return fmt.Errorf("audit: %+v, want %s", e, action)
	}
	if !end {
		return nil
	}
	var got endOfReplay
	err := json.Unmarshal(e.Details, &got)
	if stopped := got.Error != ""; err != nil || stopped == want.Done {
		return fmt.Errorf("audit: %s, want an error if the replay has stopped: %w", e.Details, errors.Join(err, errWrongAnswer))
	}
	if got.Error = ""; got != want {
		return fmt.Errorf("audit: the end of the replay is %+v, want %+v", got, want)
	}
	return nil
}

// refusing is a sink that never takes the record called name.
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
