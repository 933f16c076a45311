package meminbox

import (
	"context"
	"strings"
	"time"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/internal/wait"
)

// claim is the Claim of a store.
type claim func(ctx context.Context, id string) (driver.Unit, driver.Status, error)

// claimer is a store that claims in another way.
type claimer struct {
	*controlStore

	claim claim
}

func (s claimer) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	return s.claim(ctx, id)
}

func onClaim(broken func(s *controlStore) claim) func(c *control) {
	return func(c *control) {
		c.store = func(s *controlStore) driver.Store { return claimer{s, broken(s)} }
	}
}

// brokenClaims are claims of the wrong message, or that the wrong one gets.
func brokenClaims() []negative {
	return []negative{
		{"each process remembers for itself", func(c *control) {
			c.store = func(s *controlStore) driver.Store {
				s.store = &Store{}
				return s
			}
		}, map[string]string{"I1_AnotherProcessRemembers": "outcome committed, error none; want duplicate"}},
		{"consumers share a memory", func(c *control) {
			c.store = func(s *controlStore) driver.Store {
				s.consumer = "all"
				return s
			}
		}, map[string]string{"I1_ConsumersAreIndependent": "outcome duplicate, error none; want committed"}},
		{"ids have no case", onClaim(collated(strings.ToLower)), map[string]string{"I1_IDsAreKeptApart": "outcome duplicate"}},
		{"ids have no blanks at their end", onClaim(collated(trimmed)), map[string]string{"I1_IDsAreKeptApart": "outcome duplicate"}},
		{"look, then insert", onClaim(claimsBusy), map[string]string{
			"I5_ConcurrentDuplicatesNeverBothCommit": `committed effects are ["a" "a"`,
			"I5_RacersAfterARollback":                "outcome committed, error none; want busy",
		}},
		{"Busy taken for a duplicate", onClaim(busyIsDuplicate), map[string]string{
			"I3_BusyIsNotAcked":                "acked true, outcome duplicate",
			"I3_NotAckedWhileAnotherWrites":    "a copy is acked while the first delivery runs",
			"I1_IDsThatShareALockAreKeptApart": "acked true, outcome duplicate",
		}},
		{"a loser waits with its connection", waitsWithConnection, map[string]string{
			"I5_LoserDoesNotWaitForTheWinner": "outcome failed",
			"I5_LoserHoldsNoConnection":       "while 12 losers wait",
		}},
		{"a failed claim stays open", onClaim(leaksFailures), map[string]string{
			"I5_FailedClaimsHoldNothing": `want ["a" "after0"`,
		}},
		{"nothing runs while a message is parked", onClaim(busyIfParked), map[string]string{
			"I1_AnotherPolicyStaysBehindAParkedKey": "outcome busy",
		}},
		{"a claim outlives its context", onClaim(outlivesContext), map[string]string{
			"ClaimWithACancelledContextFails": "the handler runs",
		}},
	}
}

func trimmed(id string) string { return strings.TrimRight(id, " ") }

func collated(fold func(id string) string) func(s *controlStore) claim {
	return func(s *controlStore) claim {
		return func(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
			return s.Claim(ctx, fold(id))
		}
	}
}

func claimsBusy(s *controlStore) claim {
	return func(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
		u, status, err := s.Claim(ctx, id)
		if status == driver.Busy {
			return &unit{store: s.store, row: newRow(s.consumer, id), tx: &transaction{}}, driver.Claimed, nil
		}
		return u, status, err
	}
}

func busyIsDuplicate(s *controlStore) claim {
	return func(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
		u, status, err := s.Claim(ctx, id)
		if status == driver.Busy {
			status = driver.Duplicate
		}
		return u, status, err
	}
}

// waitsWithConnection waits for the winner of a message, and has one of few connections
// meanwhile.
func waitsWithConnection(c *control) {
	connections := make(chan struct{}, inboxtest.Connections)
	onClaim(func(s *controlStore) claim {
		return func(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
			select {
			case connections <- struct{}{}:
			case <-ctx.Done():
				return nil, 0, ctx.Err()
			}
			u, status, err := s.Claim(ctx, id)
			for status == driver.Busy && err == nil {
				if err = wait.For(ctx, time.Millisecond); err == nil {
					u, status, err = s.Claim(ctx, id)
				}
			}
			if u == nil {
				<-connections
				return nil, status, err
			}
			return &controlUnit{Unit: u, unlock: func() { <-connections }}, status, nil
		}
	})(c)
}

func leaksFailures(s *controlStore) claim {
	return func(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
		u, status, err := s.Claim(context.WithoutCancel(ctx), id)
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		return u, status, err
	}
}

func outlivesContext(s *controlStore) claim {
	return func(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
		return s.Claim(context.WithoutCancel(ctx), id)
	}
}

func busyIfParked(s *controlStore) claim {
	return func(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
		s.store.mu.Lock()
		parked := len(s.store.parked)
		s.store.mu.Unlock()
		if parked > 0 {
			return nil, driver.Busy, nil
		}
		return s.Claim(ctx, id)
	}
}

// brokenForgetters forget what they must not.
func brokenForgetters() []negative {
	return []negative{
		{"there is no floor", func(c *control) {
			c.forget = func(age time.Duration) { c.drop(age, func(r claimed) bool { return r.committed }) }
		}, map[string]string{
			"I7_ForgottenNeverRuns":        "outcome committed",
			"I7_ForgettingMeetsDeliveries": "committed effects are",
		}},
		{"what is in hand is forgotten", func(c *control) {
			c.forget = func(age time.Duration) {
				c.drop(age, func(claimed) bool { return true })
				c.mu.Lock()
				defer c.mu.Unlock()
				clear(c.locks)
			}
		}, map[string]string{"I7_OpenDeliveryIsNotForgotten": "outcome committed, error none; want busy"}},
		lowering("the floor is lowered without a word about what runs again", func(r *admin.LowerFloorRequest) { r.MayRepeat = true },
			"although what was forgotten may run again, which nobody has said"),
		lowering("a dry run lowers the floor", func(r *admin.LowerFloorRequest) { r.DryRun = false }, "outcome committed"),
		lowering("the floor is lowered to another time", func(r *admin.LowerFloorRequest) {
			if !r.To.IsZero() {
				r.To = r.To.Add(time.Minute)
			}
		}, "the floor is"),
		lowering("the audit does not say who has lowered the floor", func(r *admin.LowerFloorRequest) {
			if r.Actor != "" {
				r.Actor = "somebody"
			}
		}, "the audit has"),
	}
}

// lowering is a control of operators that change what they were asked for.
func lowering(rule string, lower func(r *admin.LowerFloorRequest), complaint string) negative {
	return negative{rule, func(c *control) { c.lower = lower }, map[string]string{"I7_LoweredFloor": complaint}}
}
