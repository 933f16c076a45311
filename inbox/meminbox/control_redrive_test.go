package meminbox

import (
	"context"

	"github.com/leat-go/leat/inbox/driver"
)

// brokenRedrives lose a redriven message, or run it more than once.
func brokenRedrives() []negative {
	return []negative{
		{"redrive that claims nothing", onStore(func(c claims) driver.Store { return redriveUnclaimed{c} }), map[string]string{
			"I1_RedriveTakesEffectOnce": `committed effects are ["a" "a"`,
		}},
		{"what fails is gone", onStore(func(c claims) driver.Store { return dropsFailed{c} }), map[string]string{
			"I4_RedriveThatFailsLeavesTheMessage": `committed effects are [], want ["a"]`,
		}},
		{"what fails is tried for ever", onStore(func(c claims) driver.Store { return neverParksAgain{c} }), map[string]string{
			"I4_RedriveThatFailsParksTheKeyAgain": `committed effects are [], want ["a" "b"]`,
		}},
	}
}

// redriveUnclaimed leaves the message in its queue.
type redriveUnclaimed struct{ claims }

func (s redriveUnclaimed) ClaimRedriven(context.Context, driver.Redriven) (driver.Unit, bool, error) {
	return &unit{store: s.store, tx: &transaction{}, redriven: &parked{}}, true, nil
}

// dropsFailed takes a message that fails out of its queue.
type dropsFailed struct{ claims }

func (s dropsFailed) FailRedriven(_ context.Context, r driver.Redriven, _ driver.RedriveFailure) error {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.store.remove(s.store.find(r))
	return nil
}

// neverParksAgain has no last attempt.
type neverParksAgain struct{ claims }

func (s neverParksAgain) FailRedriven(ctx context.Context, r driver.Redriven, f driver.RedriveFailure) error {
	f.Park = false
	return s.claims.FailRedriven(ctx, r, f)
}
