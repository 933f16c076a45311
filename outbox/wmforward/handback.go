package wmforward

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/internal/pglease"
)

// handBackLease bounds the time that HandBack takes.
const handBackLease = time.Minute

// HandedBack is where the forwarder continues.
type HandedBack struct {
	// TransactionID and Offset are the position that was stored for it.
	TransactionID uint64
	Offset        int64
	// Repeats is the number of messages that it sends again although they were sent already.
	Repeats int64
}

// HandBack lets the forwarder take over again: its position becomes the last one, in its own
// order, before which everything is delivered, and the group's position is deleted, so that the
// group would take over anew. Stop the relays first, or it returns a driver.ErrLeaseHeld. A
// forwarder that is started then, or is still running, continues without a loss.
//
// It repeats messages after that position that were delivered already: none if everything is
// drained and no write transaction is open in the cluster, otherwise everything since the oldest
// of them began. While records are set aside, it fails and changes nothing.
func (s *Source) HandBack(ctx context.Context) (HandedBack, error) {
	if s.cfg.Shadow {
		return HandedBack{}, fmt.Errorf("%w: it is a shadow", errNothingToHandBack)
	}
	ctx, cancel := context.WithTimeout(ctx, handBackLease)
	defer cancel()
	wait, err := s.takeOverTimeout(handBackLease)
	if err != nil {
		return HandedBack{}, err
	}
	attempt := s.claimant.Begin()
	defer s.claimant.End(attempt)
	lease, err := s.claim(ctx, s.pool, attempt.Owner, attempt, handBackLease)
	if err != nil {
		return HandedBack{}, unusable(describe(err))
	}
	defer s.leases.GiveBack(ctx, s.pool, lease, s.log())
	var h HandedBack
	err = s.underLock(ctx, s.pool, wait, func(tx pgx.Tx) (err error) {
		h, err = s.handBack(ctx, tx, lease)
		return err
	})
	if err != nil {
		return HandedBack{}, unusable(describe(err))
	}
	return h, nil
}

func (s *Source) handBack(ctx context.Context, tx pgx.Tx, lease pglease.Lease) (HandedBack, error) {
	var h HandedBack
	facts, err := s.facts(ctx, tx)
	if err != nil {
		return h, err
	}
	w, err := s.window.Load(ctx, tx, s.slot)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !facts.offsets {
		return h, errNothingToHandBack
	}
	if err == nil {
		err = facts.belongs(w)
	}
	if err != nil {
		return h, err
	}
	var held int64
	if err := tx.QueryRow(ctx, s.sql.held, s.slot.Group).Scan(&held); err != nil {
		return h, err
	}
	if held > 0 {
		return h, fmt.Errorf("%w: %d of group %q", errRecordsHeld, held, s.slot.Group)
	}
	var at standing
	if err := tx.QueryRow(ctx, s.sql.position, s.cfg.ConsumerGroup).Scan(&at.xid, &at.number); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return h, err
	}
	err = tx.QueryRow(ctx, s.sql.safe, w.Prev.Text, w.Target.Text, w.Last).Scan(&h.TransactionID, &h.Offset, &h.Repeats)
	if err != nil {
		return h, err
	}
	if _, err := tx.Exec(ctx, s.sql.restore, s.cfg.ConsumerGroup, h.Offset, h.TransactionID); err != nil {
		return h, err
	}
	if _, err := tx.Exec(ctx, s.sql.forget, lease.Slot.Group, lease.Slot.No); err != nil {
		return h, err
	}
	return h, s.leases.Renew(ctx, tx, lease, handBackLease) // driver.ErrLeaseLost rolls everything back
}
