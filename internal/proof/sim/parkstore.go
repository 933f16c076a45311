package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/leat-go/leat/inbox/driver"
)

// parkStore is a process's view of an inbox that parks. It calls the store in memory through the
// scheduler. Only Settle is called directly, since it neither waits nor fails.
type parkStore struct {
	driver.Parker

	p    *parking
	node *Node
}

var _ driver.Parker = parkStore{}

// ask makes a call to the store.
func (s parkStore) ask(ctx context.Context, name, about string, effect func(far context.Context) error, unheard func()) error {
	far := context.WithoutCancel(ctx)
	o := op{name: name, faulty: true, stalls: true, late: true}
	return s.node.call(ctx, o, caller(ctx, about), func() (progress, error) { return answered, effect(far) }, unheard)
}

func (s parkStore) note(what What, id string, n int) {
	s.p.w.note(Event{What: what, Node: s.node.name, ID: id, Topic: "m", N: int64(n)})
}

// parkUnit is a transaction. The scheduler owns its fields.
type parkUnit struct {
	driver.Unit

	s    parkStore
	id   string
	over bool
	lost func() // aborts the transaction
}

// open makes a unit of a transaction that the store has opened, and aborts it if the process is killed.
func (s parkStore) open(ctx context.Context, u driver.Unit, id string) *parkUnit {
	if u == nil {
		return nil
	}
	unit := &parkUnit{Unit: u, s: s, id: id}
	unit.lost = func() { unit.abort(ctx) }
	s.node.hangUps = append(s.node.hangUps, unit.lost)
	return unit
}

// abort rolls back an unfinished transaction.
func (u *parkUnit) abort(ctx context.Context) {
	if !u.over {
		u.over = true
		_ = u.Unit.Rollback(ctx) // a store in memory does not fail
		if u.s.p.w.broken == AttemptsInside {
			_ = u.s.Parker.Withdraw(ctx, u.id) // nor does it here
		}
	}
}

// hangUp makes the server notice, some time later, that u has no client any more.
func (u *parkUnit) hangUp() {
	if u != nil {
		u.s.p.w.after(u.s.p.w.latency(), u.lost)
	}
}

// Commit implements driver.Unit.
func (u *parkUnit) Commit(ctx context.Context) error {
	err := u.s.ask(ctx, "commit", u.id, func(far context.Context) error {
		if u.over {
			return driver.ErrNotCommitted
		}
		u.over = true
		return u.Unit.Commit(far)
	}, u.hangUp)
	if errors.Is(err, errRefused) {
		return fmt.Errorf("%w: %w", driver.ErrNotCommitted, err)
	}
	return err
}

// Rollback implements driver.Unit.
func (u *parkUnit) Rollback(ctx context.Context) error {
	return u.s.ask(ctx, "rollback", u.id, func(far context.Context) error {
		u.abort(far)
		return nil
	}, u.hangUp)
}

// Claim implements driver.Store.
func (s parkStore) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	var u *parkUnit
	var status driver.Status
	err := s.ask(ctx, "claim", id, func(far context.Context) error {
		opened, answer, err := s.Parker.Claim(far, id)
		u, status = s.open(far, opened, id), answer
		return err
	}, func() { u.hangUp() })
	if err != nil || u == nil {
		return nil, status, err
	}
	return u, status, nil
}

// Attempt implements driver.Attempter.
func (s parkStore) Attempt(ctx context.Context, id string, key driver.Key) (a driver.Attempt, err error) {
	err = s.ask(ctx, "attempt", id, func(far context.Context) error {
		if s.p.w.broken == KeyNotHeld {
			key = driver.Key{}
		}
		answer, err := s.Parker.Attempt(far, id, key)
		if a = answer; a.Number > 0 {
			s.note(Attempted, id, a.Number)
		}
		return err
	}, nil)
	return a, err
}

// Fail implements driver.Attempter.
func (s parkStore) Fail(ctx context.Context, id string, failed driver.AttemptError) (h driver.History, err error) {
	err = s.ask(ctx, "fail", id, func(far context.Context) error {
		answer, err := s.Parker.Fail(far, id, failed)
		h = answer
		return err
	}, nil)
	return h, err
}

// Withdraw implements driver.Attempter.
func (s parkStore) Withdraw(ctx context.Context, id string) error {
	return s.ask(ctx, "withdraw", id, func(far context.Context) error {
		s.note(Withdrawn, id, 0)
		return s.Parker.Withdraw(far, id)
	}, nil)
}

// Park implements driver.Parker.
func (s parkStore) Park(ctx context.Context, req driver.ParkRequest) (status driver.Status, err error) {
	err = s.ask(ctx, "park", req.ID, func(far context.Context) error {
		if s.p.w.broken == AckBeforePark {
			status = driver.Claimed
			return nil
		}
		answer, err := s.Parker.Park(far, req)
		if status = answer; status == driver.Claimed {
			n := req.History.Attempts
			if req.Behind {
				n = -1
			}
			s.p.w.note(Event{What: Parked, Node: s.node.name, ID: req.ID, Topic: "m", Key: req.Key.Name, N: int64(n)})
		}
		return err
	}, nil)
	return status, err
}

// PickRedriven implements driver.Parker.
func (s parkStore) PickRedriven(ctx context.Context) (r driver.Redriven, ok bool, err error) {
	err = s.ask(ctx, "pick", "", func(far context.Context) error {
		picked, found, err := s.Parker.PickRedriven(far)
		r, ok = picked, found
		return err
	}, nil)
	return r, ok && err == nil, err
}

// ClaimRedriven implements driver.Parker.
func (s parkStore) ClaimRedriven(ctx context.Context, r driver.Redriven) (driver.Unit, bool, error) {
	var u *parkUnit
	err := s.ask(ctx, "claim redriven", strconv.FormatInt(r.No, 10), func(far context.Context) error {
		opened, _, err := s.Parker.ClaimRedriven(far, r)
		u = s.open(far, opened, r.ID)
		return err
	}, func() { u.hangUp() })
	if err != nil || u == nil {
		return nil, false, err
	}
	return u, true, nil
}

// FinishRedriven implements driver.Parker.
func (s parkStore) FinishRedriven(ctx context.Context, r driver.Redriven) error {
	return s.ask(ctx, "finish", strconv.FormatInt(r.No, 10), func(far context.Context) error {
		return s.Parker.FinishRedriven(far, r)
	}, nil)
}

// FailRedriven implements driver.Parker.
func (s parkStore) FailRedriven(ctx context.Context, r driver.Redriven, f driver.RedriveFailure) error {
	return s.ask(ctx, "fail redriven", strconv.FormatInt(r.No, 10), func(far context.Context) error {
		return s.Parker.FailRedriven(far, r, f)
	}, nil)
}

// RecoverRedriven implements driver.Parker. Usually the store in memory dies with the process that
// redrives, so it has nothing to recover. Here the store outlives the process.
func (s parkStore) RecoverRedriven(ctx context.Context, _ time.Duration) (int, error) {
	err := s.ask(ctx, "recover", "", func(far context.Context) error {
		var err error
		for _, m := range s.p.parked(far, "") {
			key := driver.Key{Topic: m.Topic, Name: m.Key}
			err = errors.Join(err, s.Parker.FinishRedriven(far, driver.Redriven{Key: key}))
		}
		return err
	}, nil)
	return 0, err
}
