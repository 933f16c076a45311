package memoutbox

import (
	"context"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

// Admin returns the operators' view of the outbox. The bytes of Stats are those of the payloads.
// Members lists each lease as a relay. A greatest lag is only stored, since nothing is ever
// dropped from memory.
func (ob *Outbox) Admin() interface {
	admin.Manager
} {
	return operator{ob, heldqueue.Operators{Store: heldStore{ob}}}
}

// operator is the operators' view of the outbox.
type operator struct {
	*Outbox
	heldqueue.Operators
}

// Audit implements admin.Outbox.
func (ob operator) Audit(ctx context.Context, q admin.AuditQuery) ([]admin.AuditEntry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ob.mu.Lock()
	defer ob.mu.Unlock()
	return ob.audit.List(q)
}

// heldStore serialises operators' requests with relays.
type heldStore struct{ ob *Outbox }

var _ heldqueue.Store = heldStore{}

// Change implements heldqueue.Store.
func (s heldStore) Change(ctx context.Context, group string, work func(tx heldqueue.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	return work(s.ob.heldOf(group))
}

// Look implements heldqueue.Store.
func (s heldStore) Look(ctx context.Context, group string, work func(r heldqueue.Reader) error) error {
	return s.Change(ctx, group, func(tx heldqueue.Tx) error { return work(tx) })
}
