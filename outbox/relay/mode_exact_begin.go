package relay

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// transactionTimer is a TransactionalSink that knows how long the destination keeps a
// transaction open.
type transactionTimer interface {
	TransactionTimeout() time.Duration
}

// validateExact refuses a configuration that cannot work with sink. There is only one position,
// and nothing passes a record that cannot be delivered: the only Action is Block, which also
// applies if no policy is given.
//
// A transaction is one call of SendWith, which PublishTimeout bounds, so the destination must not
// end the transaction earlier. Lease does not matter here: a transaction that a dead relay has
// left open ends with the Fence of its successor or with the timeout of the transaction,
// whichever comes first. Until then readers of committed records wait.
func validateExact(cfg *Config, sink driver.TransactionalSink) error {
	if err := requireBlock(cfg.Policies, "the sink is transactional"); err != nil {
		return err
	}
	if t, ok := sink.(transactionTimer); ok && t.TransactionTimeout() <= cfg.PublishTimeout {
		return outbox.ConfigError("PublishTimeout", cfg.PublishTimeout, fmt.Sprintf(
			"must be below the transaction timeout of the sink, %s", t.TransactionTimeout()))
	}
	return nil
}

// beforeRead fences earlier incarnations and moves the session to the sink's position. The lease
// was acquired just before: a relay that fenced without it would cut off the rightful owner. A
// sink without a position gets one before anything is read, so that its loss can be detected from
// then on.
func (m *exactMode) beforeRead(stop, work context.Context) error {
	cfg := &m.s.relay.cfg
	if err := m.s.awaitLease(work); err != nil {
		return err
	}
	if err := requireNoneHeld(work, m.s.term); err != nil {
		return err
	}
	// It can take longer than a send, while the destination ends a transaction that was left
	// open. The lease is renewed in the meantime.
	ctx, cancel := context.WithTimeout(work, cfg.Lease)
	defer cancel()
	defer context.AfterFunc(stop, cancel)()
	slot := m.session.SlotName()
	position, err := m.sink.Fence(ctx, slot)
	if err == nil {
		err = failpoint.Inject(ctx, failpoint.RelayPositionRead)
	}
	if err != nil {
		return m.faultUnlessStopped(stop, work, "fence", err)
	}
	m.s.relay.log.InfoContext(ctx, "earlier relays are fenced",
		slog.String("slot", slot), slog.Bool("has_position", position != nil))
	if position != nil || !cfg.AdoptPosition {
		err = m.session.Seek(ctx, position)
	}
	if err != nil {
		return m.faultUnlessStopped(stop, work, "seek", err)
	}
	if position == nil {
		return m.faultUnlessStopped(stop, work, "send", m.commit(work, driver.Page{}, 0, 0))
	}
	return nil
}

// faultUnlessStopped reports err, if there is one, unless it may be the consequence of a stop.
func (m *exactMode) faultUnlessStopped(stop, work context.Context, operation string, err error) error {
	if err == nil || isOver(stop) && !isOver(work) {
		return nil
	}
	return m.s.term.fault(work, operation, err)
}
