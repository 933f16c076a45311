package meminbox

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/inboxtest"
)

// TestForbiddenFailuresAreCaught runs stores that break one rule each about
// messages whose handler fails, and wants the named check to fail.
func TestForbiddenFailuresAreCaught(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]struct {
		store  func(claims) driver.Store
		caught string
	}{
		"attempts inside the transaction":              {func(c claims) driver.Store { return attemptsInside{c} }, "I4_AttemptsSurviveTheRollback"},
		"attempts after the handler":                   {func(c claims) driver.Store { return attemptsAfter{c} }, "I4_PanicsAreAttempts"},
		"ack before the parked row is committed":       {func(c claims) driver.Store { return ackBeforePark{c} }, "I3_ParkedWhenAcked"},
		"look, then store behind":                      {func(c claims) driver.Store { return lookThenStore{c} }, "I1_FollowerMeetsTheEndOfARedrive"},
		"parked without its id":                        {func(c claims) driver.Store { return parkWithoutID{c} }, "I1_PermanentIsGivenUpAtOnce"},
		"redrive that claims nothing":                  {func(c claims) driver.Store { return redriveUnclaimed{c} }, "I1_RedriveTakesEffectOnce"},
		"parked keys are compared as a collation does": {func(c claims) driver.Store { return collatedKeys{c} }, "I1_KeysLikeAParkedOneRun"},
		"a mismatch is a duplicate":                    {func(c claims) driver.Store { return forgetsNotes{c} }, "I10_MismatchIsNotAcked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check, ok := inboxtest.FindFailure(v.caught)
			require.True(t, ok)
			require.NoError(t, check.Run(t.Context(), &subject{}))
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			require.Error(t, check.Run(ctx, &broken{store: v.store}))
		})
	}
}

// TestI1_CollatedIDsAreCaught runs a store that takes ids for one that differ in case or in
// trailing blanks only.
func TestI1_CollatedIDsAreCaught(t *testing.T) {
	t.Parallel()
	for _, fold := range []func(string) string{strings.ToLower, func(id string) string { return strings.TrimRight(id, " ") }} {
		check, ok := inboxtest.Find("I1_IDsAreKeptApart")
		require.True(t, ok)
		s := &broken{store: func(c claims) driver.Store { return collatedIDs{c, fold} }}
		require.ErrorContains(t, check.Run(t.Context(), s), "outcome duplicate")
	}
}

// broken is a subject with another store.
type broken struct {
	subject

	store func(claims) driver.Store
}

func (s *broken) Open(consumer string, cfg inbox.Config) (inboxtest.Processor, error) {
	return inbox.New(s.store(claims{store: &s.subject.store, consumer: consumer}), consumer, cfg)
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

// ackBeforePark says that it has stored what it has not.
type ackBeforePark struct{ claims }

func (ackBeforePark) Park(context.Context, driver.ParkRequest) (driver.ParkStatus, error) {
	return driver.ParkStored, nil
}

// lookThenStore lets a redrive come to its end between the look and the store.
type lookThenStore struct{ claims }

func (s lookThenStore) Park(ctx context.Context, req driver.ParkRequest) (driver.ParkStatus, error) {
	if !req.Behind {
		return s.claims.Park(ctx, req)
	}
	ended := func() bool {
		s.store.mu.Lock()
		defer s.store.mu.Unlock()
		return len(s.store.queue(s.consumer, req.Key)) == 0
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for !ended() && ctx.Err() == nil {
		timer := time.NewTimer(time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	req.Behind = false
	status, err := s.claims.Park(ctx, req)
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	for _, p := range s.store.queue(s.consumer, req.Key) {
		p.waits = true
	}
	return status, err
}

// parkWithoutID forgets that the message was settled.
type parkWithoutID struct{ claims }

func (s parkWithoutID) Park(ctx context.Context, req driver.ParkRequest) (driver.ParkStatus, error) {
	status, err := s.claims.Park(ctx, req)
	s.store.release(newRow(s.consumer, req.ID))
	return status, err
}

// redriveUnclaimed leaves the message in its queue.
type redriveUnclaimed struct{ claims }

func (s redriveUnclaimed) ClaimRedriven(context.Context, driver.Redriven) (driver.Unit, bool, error) {
	return &unit{store: s.store, tx: &Tx{}, redriven: &parked{}}, true, nil
}

// forgetsNotes has no fingerprints to compare.
type forgetsNotes struct{ claims }

func (forgetsNotes) Kept(context.Context, string) (driver.Note, bool, error) {
	return driver.Note{}, false, nil
}

// collatedKeys has one queue for keys that differ in case or in trailing blanks only.
type collatedKeys struct{ claims }

func (s collatedKeys) Attempt(ctx context.Context, id string, key driver.Key) (driver.Attempt, error) {
	return s.claims.Attempt(ctx, id, collate(key))
}

func (s collatedKeys) Park(ctx context.Context, req driver.ParkRequest) (driver.ParkStatus, error) {
	req.Key = collate(req.Key)
	return s.claims.Park(ctx, req)
}

func collate(key driver.Key) driver.Key {
	key.Name = strings.ToLower(strings.TrimRight(key.Name, " "))
	return key
}

// collatedIDs claims ids as fold makes them.
type collatedIDs struct {
	claims

	fold func(id string) string
}

func (s collatedIDs) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	return s.claims.Claim(ctx, s.fold(id))
}
