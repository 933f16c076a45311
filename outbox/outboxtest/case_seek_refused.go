package outboxtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/leat-go/leat/outbox/driver"
)

func seekRefusalChecks() []Check {
	return unless(
		noPositions,
		Check{Name: "O2_SeekRefusesWhatIsBehind", run: seekRefusesWhatIsBehind},
		Check{Name: "O2_SeekRefusesOtherPositions", run: seekRefusesOtherPositions},
		Check{Name: "O2_SeekRefusesWhatWasLost", run: seekRefusesWhatWasLost},
	)
}

// refuse expects the position not to be taken.
func (s *placed) refuse(ctx context.Context, what string, position []byte) error {
	if err := s.Seek(ctx, position); !errors.Is(err, driver.ErrSourceUnusable) {
		return unexpected("seek to "+what, err, driver.ErrSourceUnusable)
	}
	return nil
}

// three commits three records and returns the positions behind the first and the second,
// which are settled.
func (tr *trial) three(ctx context.Context, s *placed) (first, second []byte, err error) {
	if err := tr.commit(ctx, keyed("k", numbered("m", 3)...)...); err != nil {
		return nil, nil, err
	}
	p, err := s.reader.expectPage(ctx, 10, numbered("m", 3)...)
	if err != nil {
		return nil, nil, err
	}
	if first, err = s.at(p, 1); err != nil {
		return nil, nil, err
	}
	if second, err = s.at(p, 2); err != nil {
		return nil, nil, err
	}
	return first, second, s.reader.settle(ctx, p, 2)
}

// seekRefusesWhatIsBehind has the sink come back with less than was settled: it has lost
// records.
func seekRefusesWhatIsBehind(ctx context.Context, tr *trial) error {
	s, err := tr.placed(ctx)
	if err != nil {
		return err
	}
	first, second, err := tr.three(ctx, s)
	if err != nil {
		return err
	}
	if s, err = tr.released(ctx, s); err != nil {
		return err
	}
	if err := s.refuse(ctx, "one of two settled records", first); err != nil {
		return err
	}
	if err := s.refuse(ctx, "no position, of a slot that has settled two records", nil); err != nil {
		return err
	}
	if err := s.seek(ctx, second); err != nil {
		return fmt.Errorf("to what is settled: %w", err)
	}
	return s.reader.expectDrain(ctx, 10, "m-3")
}

// seekRefusesOtherPositions tries what is no position, and those of another group, slot and
// outbox.
func seekRefusesOtherPositions(ctx context.Context, tr *trial) error {
	s, err := tr.placed(ctx)
	if err != nil {
		return err
	}
	_, second, err := tr.three(ctx, s)
	if err != nil {
		return err
	}
	foreign := map[string][]byte{
		"an empty position": {}, "text": []byte("x"), "half a position": second[:len(second)/2],
	}
	slots := 1
	if !tr.features.NoSlots {
		slots = 2
	}
	for what, cfg := range map[string]GroupConfig{
		"the position of another group":        {Name: "other", Positions: true},
		"the position of another group's slot": {Name: "slots", Slots: slots, Positions: true},
	} {
		if foreign[what], err = tr.lastPosition(ctx, cfg); err != nil {
			return err
		}
	}
	if n, ok := tr.Subject.(Neighbor); ok {
		another, err := n.Another(ctx)
		if err != nil {
			return fmt.Errorf("another outbox: %w", err)
		}
		there := &trial{Subject: another, features: tr.features}
		defer there.end()
		elsewhere, err := there.placed(ctx)
		if err != nil {
			return err
		}
		if _, foreign["the position of another outbox"], err = there.three(ctx, elsewhere); err != nil {
			return err
		}
	}
	if s, err = tr.released(ctx, s); err != nil {
		return err
	}
	for what, position := range foreign {
		if err := s.refuse(ctx, what, position); err != nil {
			return err
		}
	}
	if err := s.seek(ctx, second); err != nil {
		return fmt.Errorf("to what is settled: %w", err)
	}
	return s.reader.expectDrain(ctx, 10, "m-3")
}

// lastPosition returns where the group's last slot begins.
func (tr *trial) lastPosition(ctx context.Context, cfg GroupConfig) ([]byte, error) {
	src, err := tr.group(cfg)
	if err != nil {
		return nil, err
	}
	var last *placed
	for range max(cfg.Slots, 1) {
		r, err := acquireFrom(ctx, src)
		if err != nil {
			return nil, err
		}
		if last, err = asPlaced(r); err != nil {
			return nil, err
		}
	}
	return last.at(driver.Page{}, 0)
}

// seekRefusesWhatWasLost has the outbox go back behind what the sink has: what was sent
// since is unknown to it. That stays so, whatever is committed later.
func seekRefusesWhatWasLost(ctx context.Context, tr *trial) error {
	loser, ok := tr.Subject.(PositionLoser)
	if !ok {
		return nil
	}
	s, err := tr.placed(ctx)
	if err != nil {
		return err
	}
	_, second, err := tr.three(ctx, s)
	if err != nil {
		return err
	}
	if err := s.reader.Release(ctx); err != nil {
		return err
	}
	if err := loser.LosePositions(ctx); err != nil {
		return fmt.Errorf("lose positions: %w", err)
	}
	if s, err = tr.placed(ctx); err != nil {
		return err
	}
	for range 3 {
		if err := tr.commit(ctx, keyed("k", "since")...); err != nil {
			return err
		}
		if err := s.refuse(ctx, "a position that the outbox has lost", second); err != nil {
			return err
		}
		if s, err = tr.crashed(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
