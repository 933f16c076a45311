package outboxtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/replay"
)

func replayGapChecks() []Check {
	return unless(
		noReplay,
		Check{Name: "O2_ReplayTellsOfGaps", run: replayTellsOfGaps},
		Check{Name: "O2_ReplayBeginsWithWhatIsRetained", run: replayOfWhatIsRetained},
	)
}

// dropper commits and settles records of these names, and returns their numbers with what
// drops the first two thirds of them; nil if the subject cannot.
func (tr *trial) dropper(ctx context.Context, names []string) (drop func() error, seqs []int64, err error) {
	d, ok := tr.Subject.(HistoryDropper)
	if !ok {
		return nil, nil, nil
	}
	for _, name := range names {
		if err := tr.commit(ctx, keyed("k", name)...); err != nil {
			return nil, nil, err
		}
	}
	settled, err := tr.readAll(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := expect(settled, names...); err != nil {
		return nil, nil, err
	}
	for i := range settled {
		seqs = append(seqs, settled[i].Seq)
	}
	return func() error { return d.DropHistory(ctx, seqs[len(seqs)*2/3-1]) }, seqs, nil
}

// replayTellsOfGaps drops two thirds of history, if the subject can, under a replay that
// has sent its first page.
func replayTellsOfGaps(ctx context.Context, tr *trial) error {
	names := numbered("m", 30)
	drop, seqs, err := tr.dropper(ctx, names)
	if drop == nil || err != nil {
		return err
	}
	history, err := tr.history(Selection{})
	if err != nil {
		return err
	}
	broker := NewBroker()
	var failed error
	cfg := replay.Config{Actor: "outboxtest", Reason: "a check", PageSize: 3}
	cfg.Progress = func(context.Context, replay.Report) {
		if drop != nil {
			failed, drop = drop(), nil
		}
	}
	report, err := replay.Run(ctx, history, broker.Sink(), cfg)
	if failed != nil {
		return fmt.Errorf("drop: %w", failed)
	}
	if err := expectGap(err, seqs[3], seqs[19], seqs[20]); err != nil {
		return fmt.Errorf("history was dropped under it: %w, sent %s", err, describe(broker.Log()))
	}
	if err := expect(broker.Log(), names[:3]...); err != nil {
		return err
	}
	cfg.Position = report.Position
	_, err = replay.Run(ctx, history, broker.Sink(), cfg)
	if err := expectGap(err, seqs[3], seqs[19], seqs[20]); err != nil {
		return fmt.Errorf("resumed: %w", err)
	}
	cfg.SkipGaps = true
	report, err = replay.Run(ctx, history, broker.Sink(), cfg)
	if err != nil {
		return fmt.Errorf("resumed behind the gap: %w", err)
	}
	if !report.Done || len(report.Gaps) == 0 {
		return fmt.Errorf("resumed behind the gap: done %t, gaps %v", report.Done, report.Gaps)
	}
	return expect(broker.Log(), append(names[:3:3], names[20:]...)...)
}

// expectGap expects an error that names all numbers from first to last, and none that is
// retained.
func expectGap(err error, first, last, retained int64) error {
	gap, ok := errors.AsType[*driver.HistoryGapError](err)
	switch {
	case !ok || !errors.Is(err, driver.ErrHistoryGap):
		return unexpected("replay of what is no longer retained", err, driver.ErrHistoryGap)
	case gap.From > first || gap.To < last || gap.To >= retained:
		return fmt.Errorf("gap of numbers %d to %d, want %d to %d", gap.From, gap.To, first, last)
	}
	return nil
}

// replayOfWhatIsRetained begins behind what was dropped, which is no gap: nobody has asked
// for it by its number.
func replayOfWhatIsRetained(ctx context.Context, tr *trial) error {
	names := numbered("m", 9)
	drop, _, err := tr.dropper(ctx, names)
	if drop == nil || err != nil {
		return err
	}
	if err := drop(); err != nil {
		return fmt.Errorf("drop: %w", err)
	}
	got, err := tr.replayed(ctx, Selection{}, "", 2)
	if err != nil {
		return err
	}
	return expect(got, names[6:]...)
}
