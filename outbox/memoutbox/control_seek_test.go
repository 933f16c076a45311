package memoutbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/leat-go/leat/outbox/driver"
)

// brokenSeeks are the ways of taking a sink's position that lose or repeat.
func brokenSeeks() []negative {
	return []negative{
		{"the sink's position is ignored", seeksNothing, map[string]string{
			"O10_SeekGoesToTheSinksPosition":          "twice or never committed [late-1",
			"Relay_O10_ExactlyOnceThroughLostAnswers": "twice or never committed [",
			"Relay_O10_ExactlyOnceThroughAKill":       "want [m-1",
			"O2_SeekRefusesWhatIsBehind":              "one of two settled records",
		}},
		{"what is refused is taken", refusesNothing, map[string]string{
			"O2_SeekRefusesWhatIsBehind":   "one of two settled records",
			"O2_SeekRefusesOtherPositions": "no error",
			"O2_SeekRefusesWhatWasLost":    "a position that the outbox has lost",
		}},
		{"a refusal does not say which fact has changed", refusesAlike, map[string]string{
			"O2_SeekRefusesWhatIsBehind": "want leat: the sink's position is behind",
			"O2_SeekRefusesWhatWasLost":  "want leat: the database went back",
		}},
		{"who has lost the lease says that the database did", lostItself, map[string]string{
			"O9_SeekOfALostLease": "after another one has led",
		}},
		{"a position that is missing is the beginning", missesNothing, map[string]string{
			"O2_SeekRefusesWhatIsBehind": "no position, of a slot that has settled",
		}},
		{"nobody asks whose a position is", anybodysPosition, map[string]string{
			"O2_SeekRefusesOtherPositions": "seek to the position of another",
		}},
		{"only the stored position is taken", storedOnly, map[string]string{
			"O10_SeekWhereThereWasNothingSince": "since when nothing was committed",
			"O10_SeekAfterTheSlotsHaveChanged":  "before the change",
			"O10_SeekGoesToTheSinksPosition":    "is not the stored one",
		}},
		{"there is no position before the first record", noFirstPosition, map[string]string{
			"O12_SeekBeforeTheFirstRecord": "position: nil",
		}},
		{"all slots have one name", oneName, map[string]string{
			"O12_SlotNamesDiffer": "twice, or without its number",
		}},
	}
}

func seeksNothing(c *control) {
	holder(c, func(_ *session, c *controlSession) {
		c.seek = func(context.Context, []byte) error { return nil }
	})
}

func refusesNothing(c *control) {
	holder(c, func(s *session, c *controlSession) {
		c.seek = func(ctx context.Context, position []byte) error {
			if err := s.Seek(ctx, position); !errors.Is(err, driver.ErrSourceUnusable) {
				return err
			}
			return nil
		}
	})
}

func refusesAlike(c *control) {
	holder(c, func(s *session, c *controlSession) {
		c.seek = func(ctx context.Context, position []byte) error {
			if err := s.Seek(ctx, position); err != nil {
				return driver.ErrSourceUnusable
			}
			return nil
		}
	})
}

func lostItself(c *control) {
	holder(c, func(s *session, c *controlSession) {
		c.seek = func(ctx context.Context, position []byte) error {
			if err := s.Seek(ctx, position); !errors.Is(err, driver.ErrLeaseLost) {
				return err
			}
			return driver.ErrSourceUnusable
		}
	})
}

func missesNothing(c *control) {
	holder(c, func(s *session, c *controlSession) {
		c.seek = func(ctx context.Context, position []byte) error {
			if position == nil {
				return nil
			}
			return s.Seek(ctx, position)
		}
	})
}

func anybodysPosition(c *control) {
	holder(c, func(s *session, c *controlSession) {
		c.seek = func(ctx context.Context, position []byte) error {
			var k keptPosition
			if json.Unmarshal(position, &k) != nil {
				return s.Seek(ctx, position)
			}
			s.ob.mu.Lock()
			k.Outbox, k.Slot = s.ob.id, s.SlotName()
			s.ob.mu.Unlock()
			mine, err := json.Marshal(k)
			return errors.Join(err, s.Seek(ctx, mine))
		}
	})
}

var errNotStored = errors.New("is not the stored one")

func storedOnly(c *control) {
	holder(c, func(s *session, c *controlSession) {
		c.seek = func(ctx context.Context, position []byte) error {
			stored, err := s.Position(driver.Page{}, 0)
			if err != nil {
				return err
			}
			if position != nil && !bytes.Equal(stored, position) {
				return errNotStored
			}
			return s.Seek(ctx, position)
		}
	})
}

func noFirstPosition(c *control) {
	holder(c, func(s *session, c *controlSession) {
		c.position = func(p driver.Page, n int) ([]byte, error) {
			if p.Cursor == nil {
				return nil, nil
			}
			return s.Position(p, n)
		}
	})
}

func oneName(c *control) {
	holder(c, func(s *session, c *controlSession) {
		c.name = func() string { return s.name + "/0" }
	})
}
