package dynamooutbox

import (
	"context"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

// Admin returns the operators' view of the outbox. It has one group, once a relay has begun.
//
// More than about ninety records are redriven or dropped in several transactions, the last of a
// key first. Stats counts pending messages up to a thousand per bucket, and reads the held
// records without their payloads; LastSeq is that of the last message that was counted, Bytes and
// Rows are not known. Members leaves out standby relays. Audit reads the entries one after
// another until it has enough.
func (o *Outbox) Admin() admin.Outbox {
	return operator{o, heldqueue.Operators{Store: heldStore{o}}}
}

// operator is the operators' view of the outbox.
type operator struct {
	*Outbox
	heldqueue.Operators
}

// heldStore serialises operators' requests with relays.
type heldStore struct{ ob *Outbox }

var _ heldqueue.Store = heldStore{}

// Change implements heldqueue.Store.
func (s heldStore) Change(ctx context.Context, group string, work func(tx heldqueue.Tx) error) error {
	c := heldCache{group: group}
	return c.change(ctx, s.ob, nil, nil, work)
}

// Look implements heldqueue.Store.
func (s heldStore) Look(ctx context.Context, group string, work func(r heldqueue.Reader) error) error {
	c := heldCache{group: group}
	if err := c.refresh(ctx, s.ob); err != nil {
		return err
	}
	return work(c.tx(s.ob))
}
