package dynamooutbox

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

var _ driver.Holder = (*session)(nil)

// partSize is the number of records that are set aside, or resolved, in one transaction: each can
// take its row, its message, a note, and the row of a record that follows.
const partSize = 20

func (s *session) relay() heldqueue.Relay {
	return heldqueue.Relay{Owner: s.lease.owner, Epoch: s.epoch}
}

// look runs work on the current held records.
func (s *session) look(ctx context.Context, work func(r heldqueue.Reader) error) error {
	if err := s.alive(ctx); err != nil {
		return err
	}
	if err := s.held.refresh(ctx, s.ob); err != nil {
		return err
	}
	return work(s.held.tx(s.ob))
}

// HeldKeys implements driver.Holder.
func (s *session) HeldKeys(ctx context.Context) (keys []driver.Key, err error) {
	err = s.look(ctx, func(r heldqueue.Reader) error {
		keys, err = heldqueue.Keys(ctx, r, heldqueue.Share{})
		return err
	})
	return keys, err
}

// CountHeld implements driver.Holder.
func (s *session) CountHeld(ctx context.Context) (n int, err error) {
	err = s.look(ctx, func(r heldqueue.Reader) error {
		n, err = r.Count(ctx, heldqueue.Share{})
		return err
	})
	return n, err
}

// Due implements driver.Holder.
func (s *session) Due(ctx context.Context, limit int, except []string) (due []driver.Held, err error) {
	want := heldqueue.Want{Except: except, Limit: limit, Bytes: heldqueue.MaxDueBytes}
	err = s.look(ctx, func(r heldqueue.Reader) error {
		due, err = heldqueue.Due(ctx, r, want)
		return err
	})
	return due, err
}

// Hasten implements driver.Holder, in as many transactions as it needs. Its clock is the process's.
func (s *session) Hasten(ctx context.Context, within time.Duration) error {
	if err := s.alive(ctx); err != nil {
		return err
	}
	fence := s.ob.fence(s.lease)
	for n := partSize; n == partSize; {
		err := s.held.change(ctx, s.ob, &fence, nil, func(tx heldqueue.Tx) (err error) {
			n, err = heldqueue.Hasten(ctx, tx, within, partSize)
			return err
		})
		if err != nil {
			return fmt.Errorf("leat: hasten: %w", err)
		}
	}
	return nil
}

// Hold implements driver.Holder, in as many transactions as it needs, in the order of the page:
// records that are not set aside yet are still pending, and the first of a key holds the others
// back.
func (s *session) Hold(ctx context.Context, p driver.Page, n int, h []driver.Holding) error {
	c, err := s.check(ctx, p, n)
	if err != nil {
		return err
	}
	if err := heldqueue.CheckHoldings(n, h); err != nil {
		return err
	}
	from := c.settled
	for len(h) > 0 && h[0].Index < from {
		h = h[1:] // stored by an earlier call whose answer was lost
	}
	aside := make(map[int]bool, len(h))
	for len(h) > 0 {
		part := h[:partOf(p.Records, h)]
		h = h[len(part):]
		if err := s.holdPart(ctx, p.Records, part); err != nil {
			return err
		}
		for _, one := range part {
			aside[one.Index] = true
		}
	}
	var acknowledged []outbox.Record
	for i := from; i < n; i++ {
		if !aside[i] {
			acknowledged = append(acknowledged, p.Records[i])
		}
	}
	if err := s.ob.deleteAll(ctx, acknowledged); err != nil {
		return err
	}
	if n > from {
		s.settle(c, p, n)
	}
	return nil
}

// partOf returns how many of h to set aside in one transaction.
func partOf(records []outbox.Record, h []driver.Holding) int {
	n, bytes := 0, 0
	for n < len(h) && n < partSize {
		if bytes += sizeOf(&records[h[n].Index].Message); n > 0 && bytes > maxTxBytes/2 {
			break
		}
		n++
	}
	return n
}

func (s *session) holdPart(ctx context.Context, records []outbox.Record, part []driver.Holding) error {
	var moves []types.TransactWriteItem
	for _, one := range part {
		moves = append(moves, types.TransactWriteItem{Delete: &types.Delete{
			TableName: &s.ob.cfg.Table, Key: messageAt(records[one.Index].Seq),
		}})
	}
	fence := s.ob.fence(s.lease)
	return s.held.change(ctx, s.ob, &fence, moves, func(tx heldqueue.Tx) error {
		return heldqueue.Hold(ctx, tx, s.relay(), records, part)
	})
}

// Resolve implements driver.Holder, in as many transactions as it needs.
func (s *session) Resolve(ctx context.Context, verdicts []driver.Verdict) (free []driver.Key, err error) {
	if err := s.alive(ctx); err != nil {
		return nil, err
	}
	fence := s.ob.fence(s.lease)
	isFree := make(map[driver.Key]bool)
	for len(verdicts) > 0 {
		part := verdicts[:min(len(verdicts), partSize)]
		verdicts = verdicts[len(part):]
		var now []driver.Key
		err := s.held.change(ctx, s.ob, &fence, nil, func(tx heldqueue.Tx) (err error) {
			now, err = heldqueue.Resolve(ctx, tx, s.relay(), part)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("leat: resolve: %w", err)
		}
		for _, key := range now {
			if !isFree[key] {
				isFree[key] = true
				free = append(free, key)
			}
		}
	}
	return free, nil
}
