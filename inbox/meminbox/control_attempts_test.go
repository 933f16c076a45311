package meminbox

import (
	"context"

	"github.com/leat-go/leat/inbox/driver"
)

// onStore replaces the store by one on its claims.
func onStore(broken func(c claims) driver.Store) func(c *control) {
	return func(c *control) {
		c.store = func(s *controlStore) driver.Store { return broken(s.claims) }
	}
}

// brokenAttempts are attempts that count where they must not, or do not where they must.
func brokenAttempts() []negative {
	return []negative{
		{"attempts inside the transaction", onStore(func(c claims) driver.Store { return attemptsInside{c} }), map[string]string{
			"I4_AttemptsSurviveTheRollback": "outcome failed",
		}},
		{"attempts after the handler", onStore(func(c claims) driver.Store { return attemptsAfter{c} }), map[string]string{
			"I4_PanicsAreAttempts": "outcome committed, error none; want parked",
		}},
		{"each process counts for itself", onStore(func(c claims) driver.Store {
			return attemptsElsewhere{c, claims{store: &Store{}, consumer: c.consumer}}
		}), map[string]string{
			"I4_AttemptsAreCountedAcrossProcesses": "outcome failed",
		}},
		{"no attempt is taken back", onStore(func(c claims) driver.Store { return neverWithdraws{c} }), map[string]string{
			"I4_CancelledDeliveriesAreNoAttempts": "outcome parked",
			"I4_OutagesAreNoAttempts":             "outcome parked",
		}},
		{"copies count", onStore(func(c claims) driver.Store { return countsCopies{neverWithdraws{c}} }), map[string]string{
			"I4_BusyAndDuplicateAreNoAttempts": "outcome parked, error none; want failed",
		}},
		{"attempts go on after a success", onStore(func(c claims) driver.Store { return neverSettles{c} }), map[string]string{
			"I4_SuccessForgetsAttempts": "outcome parked, error none; want duplicate",
		}},
	}
}

// attemptsInside loses the count with the transaction.
type attemptsInside struct{ claims }

func (s attemptsInside) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	u, status, err := s.claims.Claim(ctx, id)
	if u == nil {
		return nil, status, err
	}
	return uncounting{Unit: u, claims: s.claims, id: id}, status, nil
}

type uncounting struct {
	driver.Unit

	claims claims
	id     string
}

func (u uncounting) Rollback(ctx context.Context) error {
	_ = u.claims.Withdraw(ctx, u.id)
	return u.Unit.Rollback(ctx)
}

// attemptsAfter counts when a handler has failed, so that one that ends with its
// process never counts.
type attemptsAfter struct{ claims }

func (s attemptsAfter) Attempt(ctx context.Context, id string, key driver.Key) (driver.Attempt, error) {
	a, err := s.claims.Attempt(ctx, id, key)
	if a.Number > 0 {
		_ = s.Withdraw(ctx, id)
		a.Number = 1
	}
	return a, err
}

// attemptsElsewhere counts in a memory of its own.
type attemptsElsewhere struct {
	claims

	own claims
}

func (s attemptsElsewhere) Attempt(ctx context.Context, id string, key driver.Key) (driver.Attempt, error) {
	return s.own.Attempt(ctx, id, key)
}

func (s attemptsElsewhere) Fail(ctx context.Context, id string, failed driver.AttemptError) (driver.History, error) {
	return s.own.Fail(ctx, id, failed)
}

// neverWithdraws counts what has said nothing about the message.
type neverWithdraws struct{ claims }

func (neverWithdraws) Withdraw(context.Context, string) error { return nil }

// countsCopies counts deliveries of a message that is in progress.
type countsCopies struct{ neverWithdraws }

func (s countsCopies) Attempt(ctx context.Context, id string, key driver.Key) (driver.Attempt, error) {
	return countAny(ctx, s.claims, id, key)
}

// countAny counts an attempt whatever became of the message.
func countAny(ctx context.Context, c claims, id string, key driver.Key) (driver.Attempt, error) {
	r := newRow(c.consumer, id)
	c.store.mu.Lock()
	known, found := c.store.rows[r]
	delete(c.store.rows, r)
	c.store.mu.Unlock()
	a, err := c.Attempt(ctx, id, key)
	if found {
		c.store.mu.Lock()
		defer c.store.mu.Unlock()
		c.store.rows[r] = known
	}
	return a, err
}

// neverSettles counts on when the message was processed, and parks it without a look.
type neverSettles struct{ claims }

func (neverSettles) Settle(string) {}

func (s neverSettles) Attempt(ctx context.Context, id string, key driver.Key) (driver.Attempt, error) {
	return countAny(ctx, s.claims, id, key)
}

func (s neverSettles) Park(ctx context.Context, req driver.ParkRequest) (driver.Status, error) {
	s.store.release(newRow(s.consumer, req.ID))
	return s.claims.Park(ctx, req)
}
