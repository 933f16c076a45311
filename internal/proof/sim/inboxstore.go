package sim

import (
	"context"
	"errors"
	"fmt"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/outbox"
)

// claim is a row of the inbox; it counts once it is committed.
type claim struct {
	committed bool
}

// inboxStore is a process's view of the inbox.
type inboxStore struct {
	db   *db
	node *Node
}

var _ driver.Store = inboxStore{}

// Claim implements driver.Store.
func (s inboxStore) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	var t *tx
	var status driver.Status
	o := op{name: "claim", faulty: true, stalls: true, late: true}
	err := s.node.call(ctx, o, caller(ctx, id), func() (progress, error) {
		t, status = s.claim(id)
		return answered, nil
	}, func() { s.node.hangUp(t) })
	if err != nil {
		return nil, 0, err
	}
	if status != driver.Claimed {
		return nil, status, nil
	}
	return &unit{node: s.node, tx: t, id: id}, status, nil
}

func (s inboxStore) claim(id string) (*tx, driver.Status) {
	switch c := s.db.inbox[id]; {
	case c == nil, c.committed && s.db.w.broken == ForgottenRuns:
	case c.committed || s.db.w.broken == BusyIsDuplicate:
		return nil, driver.Duplicate
	default:
		return nil, driver.Busy
	}
	t := s.db.begin(s.node)
	switch s.db.w.broken {
	case LookThenRun, ClaimLate:
		return t, driver.Claimed
	case ClaimApart, ClaimDeleted:
		s.db.inbox[id] = &claim{committed: true}
		return t, driver.Claimed
	}
	s.db.inbox[id] = &claim{}
	t.claims = append(t.claims, id)
	return t, driver.Claimed
}

// hangUp makes the server notice, some time later, that t has lost its client, and abort t.
func (n *Node) hangUp(t *tx) {
	if t != nil {
		n.w.after(n.w.latency(), t.abort)
	}
}

// unit is a transaction that has claimed a message.
type unit struct {
	node  *Node
	tx    *tx
	id    string
	child []outbox.Message // stored later in a separate transaction, if ChildLate is broken
}

type txKey struct{}

// Context implements driver.Unit.
func (u *unit) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, txKey{}, u)
}

// Commit implements driver.Unit.
func (u *unit) Commit(ctx context.Context) error {
	o := op{name: "commit", faulty: true, stalls: true, late: true}
	err := u.node.call(ctx, o, caller(ctx, u.id), func() (progress, error) {
		if !u.tx.commit() {
			return answered, driver.ErrNotCommitted
		}
		if u.tx.db.w.broken == LookThenRun {
			u.tx.db.inbox[u.id] = &claim{committed: true}
		}
		return answered, nil
	}, func() { u.node.hangUp(u.tx) })
	switch broken := u.tx.db.w.broken; {
	case err != nil && broken == CommitTrusted:
		return nil
	case errors.Is(err, errRefused):
		return fmt.Errorf("%w: %w", driver.ErrNotCommitted, err)
	case err == nil && (broken == ClaimLate || broken == ChildLate):
		return u.afterwards(ctx)
	}
	return err
}

// afterwards stores, in a separate transaction, what belongs in the transaction of the effects.
func (u *unit) afterwards(ctx context.Context) error {
	return u.node.call(ctx, op{name: "afterwards", faulty: true, stalls: true, late: true}, caller(ctx, u.id), func() (progress, error) {
		t := u.tx.db.begin(u.node)
		defer t.commit()
		if u.tx.db.w.broken == ChildLate {
			return t.enqueue(u.child)
		}
		u.tx.db.inbox[u.id] = &claim{committed: true}
		return answered, nil
	}, nil)
}

// Rollback implements driver.Unit.
func (u *unit) Rollback(ctx context.Context) error {
	o := op{name: "rollback", faulty: true, late: true}
	return u.node.call(ctx, o, caller(ctx, u.id), func() (progress, error) {
		u.tx.abort()
		if u.tx.db.w.broken == ClaimDeleted {
			delete(u.tx.db.inbox, u.id)
		}
		return answered, nil
	}, func() { u.node.hangUp(u.tx) })
}
