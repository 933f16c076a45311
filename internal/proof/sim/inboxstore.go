package sim

import (
	"context"
	"errors"
	"fmt"

	"github.com/leat-go/leat/inbox/driver"
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
	case c == nil:
	case c.committed || s.db.w.broken == BusyIsDuplicate:
		return nil, driver.Duplicate
	default:
		return nil, driver.Busy
	}
	s.db.inbox[id] = &claim{}
	t := s.db.begin(s.node)
	t.claims = append(t.claims, id)
	if s.db.w.broken == ClaimApart {
		t.commit()
		t = s.db.begin(s.node)
	}
	return t, driver.Claimed
}

// hangUp lets the server find out, some time later, that nobody will end t.
func (n *Node) hangUp(t *tx) {
	if t != nil {
		n.w.after(n.w.latency(), t.abort)
	}
}

// unit is a transaction that has claimed a message.
type unit struct {
	node *Node
	tx   *tx
	id   string
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
		return answered, nil
	}, func() { u.node.hangUp(u.tx) })
	if errors.Is(err, errRefused) {
		return fmt.Errorf("%w: %w", driver.ErrNotCommitted, err)
	}
	return err
}

// Rollback implements driver.Unit.
func (u *unit) Rollback(ctx context.Context) error {
	o := op{name: "rollback", faulty: true, late: true}
	return u.node.call(ctx, o, caller(ctx, u.id), func() (progress, error) {
		u.tx.abort()
		return answered, nil
	}, func() { u.node.hangUp(u.tx) })
}
