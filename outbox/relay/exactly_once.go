package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// AlarmBlocked says that a TransactionalSink cannot deliver a record, so that its
// slot stands still. It is raised once a record and lease.
const AlarmBlocked AlarmKind = "blocked"

var (
	errNotPositioned = fmt.Errorf("%w: its sessions implement no driver.Positioned, which a TransactionalSink needs", driver.ErrSourceUnusable)
	errHeldBefore    = fmt.Errorf("%w: it holds records that an earlier relay has set aside, which a TransactionalSink would overtake; redrive them with that relay's sink, or drop them", driver.ErrSourceUnusable)
)

// transactionTimer is a TransactionalSink that tells how long the destination
// keeps a transaction open.
type transactionTimer interface {
	TransactionTimeout() time.Duration
}

// validateExactlyOnce refuses what cannot work with a TransactionalSink. Its
// position is one, and nothing passes a record that cannot be delivered: the only
// Action is Block, also where no policy is given.
//
// A transaction is one call of SendWith, which PublishTimeout bounds, so the
// destination must not give it up before. Lease has no part in it: what a dead
// relay left open ends with the Fence of its successor, and where there is none,
// with the timeout of the transaction, whichever comes first. Until then readers
// of committed records wait.
func (c Config) validateExactlyOnce(sink driver.Sink) error {
	if _, ok := sink.(driver.TransactionalSink); !ok {
		return nil
	}
	for i, p := range c.Policies {
		if p.Action != Block {
			return outbox.ConfigError(fmt.Sprintf("Policies[%d].Action", i), p.Action, "must be block where the sink is transactional")
		}
	}
	if t, ok := sink.(transactionTimer); ok && t.TransactionTimeout() <= c.PublishTimeout {
		return outbox.ConfigError("PublishTimeout", c.PublishTimeout, fmt.Sprintf(
			"must be below the sink's TransactionTimeout %s", t.TransactionTimeout()))
	}
	return nil
}

// exactlyOnce delivers the pages of a term together with their positions, each
// in a transaction of the destination.
//
// The destination knows best what it has committed. So a term begins by asking it
// (Fence, which also ends all earlier incarnations, then Seek), the session moves
// on only when it has said that it has committed, and where it has not said so the
// term is over and the next one asks again. What the session stores is a copy, for
// retention and for operators.
type exactlyOnce struct {
	term    *term
	sink    driver.TransactionalSink
	session driver.Positioned
	alarmed int64 // Seq of the record of the last AlarmBlocked
}

// deliverExactlyOnce prepares t for a sink that is transactional.
func (t *term) deliverExactlyOnce() error {
	sink, ok := t.relay.sink.(driver.TransactionalSink)
	if !ok {
		return nil
	}
	session, ok := t.session.(driver.Positioned)
	if !ok {
		return errNotPositioned
	}
	t.exact = &exactlyOnce{term: t, sink: sink, session: session}
	return nil
}

// begin fences earlier incarnations and moves the session to where the sink is.
// The lease was acquired just now: fencing without it would cut off its rightful
// owner. Where the sink has no position, it is given one before anything is read,
// so that it can be missed from then on.
func (e *exactlyOnce) begin(stop, work context.Context) error {
	cfg := e.term.relay.cfg
	if err := e.term.lease.await(work, cfg.PublishTimeout); err != nil {
		return err
	}
	if err := e.requireNoneHeld(work); err != nil {
		return err
	}
	// It can take longer than a send, while the destination ends a transaction that
	// was left open. The lease is renewed meanwhile.
	ctx, cancel := context.WithTimeout(work, cfg.Lease)
	defer cancel()
	defer context.AfterFunc(stop, cancel)()
	slot := e.session.SlotName()
	position, err := e.sink.Fence(ctx, slot)
	if err == nil {
		err = failpoint.Inject(ctx, failpoint.RelayPositionRead)
	}
	if err != nil {
		return e.fail(stop, work, "fence", err)
	}
	e.term.relay.log.InfoContext(ctx, "earlier relays are fenced",
		slog.String("slot", slot), slog.Bool("has_position", position != nil))
	if position != nil || !cfg.AdoptPosition {
		err = e.session.Seek(ctx, position)
	}
	if err != nil {
		return e.fail(stop, work, "seek", err)
	}
	if position == nil {
		return e.fail(stop, work, "send", e.commit(work, driver.Page{}, 0, 0))
	}
	return nil
}

// requireNoneHeld refuses a slot that has records set aside: they lie behind the
// position, and the records of their keys would go on without them.
func (e *exactlyOnce) requireNoneHeld(work context.Context) error {
	holder, ok := e.term.session.(driver.Holder)
	if !ok {
		return nil
	}
	keys, err := holder.HeldKeys(work)
	if err == nil && len(keys) > 0 {
		err = errHeldBefore
	}
	if err != nil {
		return e.term.fault(work, "held_keys", err)
	}
	return nil
}

// fail reports err, unless the relay is being stopped.
func (e *exactlyOnce) fail(stop, work context.Context, operation string, err error) error {
	if err == nil {
		return nil
	}
	if stop.Err() != nil && work.Err() == nil {
		return nil
	}
	return e.term.fault(work, operation, err)
}

// deliver sends page with its position and settles it. Where one record cannot be
// delivered it commits those before it, and then stays at that record: the
// position is one, so that nothing can pass it.
func (e *exactlyOnce) deliver(stop, work context.Context, page driver.Page) error {
	t := e.term
	for done, until := 0, len(page.Records); done < len(page.Records); {
		if err := t.lease.await(work, t.relay.cfg.PublishTimeout); err != nil {
			return err
		}
		err := e.commit(work, page, done, until)
		if prefix, ok := errors.AsType[*driver.PrefixError](err); ok && prefix.N >= 0 && prefix.N < until-done {
			if prefix.N > 0 {
				until = done + prefix.N
				continue
			}
			until = len(page.Records)
			if !e.blocked(stop, work, &page.Records[done], prefix.Err) {
				return nil
			}
			continue
		}
		if err != nil {
			return t.fault(work, "send", err)
		}
		t.retry.Reset()
		if err := t.settleUpTo(work, page, done, until); err != nil {
			return err
		}
		done, until = until, len(page.Records)
	}
	return nil
}

// commit delivers records done to until of page with the position behind them. Of
// an empty page it delivers the position only.
func (e *exactlyOnce) commit(work context.Context, page driver.Page, done, until int) error {
	position, err := e.session.Position(page, until)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(work, e.term.relay.cfg.PublishTimeout)
	defer cancel()
	records := page.Records[done:until]
	began := time.Now()
	err = e.sink.SendWith(ctx, e.session.SlotName(), records, position)
	if len(records) > 0 {
		results := resultsOf(len(records), err)
		e.term.relay.onPublish(ctx, records, results, time.Since(began))
		_ = e.term.relay.watch.sent(results) // the first failure, which is err
	}
	if err == nil {
		err = failpoint.Inject(work, failpoint.RelaySentNotAcked)
	}
	return err
}

// resultsOf says of n records what became of their transaction: nothing of it was
// delivered where it has failed.
func resultsOf(n int, err error) []outbox.Result {
	results := make([]outbox.Result, n)
	if err == nil {
		return results
	}
	prefix, ok := errors.AsType[*driver.PrefixError](err)
	for i := range results {
		switch {
		case !ok:
			results[i] = outbox.Result{Err: err}
		case i == prefix.N:
			results[i] = outbox.Result{Err: prefix.Err}
		default:
			results[i] = outbox.NotSent()
		}
	}
	return results
}

// blocked reports that r cannot be delivered, and says whether to try again.
func (e *exactlyOnce) blocked(stop, work context.Context, r *outbox.Record, err error) bool {
	t := e.term
	t.inHand(r)
	t.relay.onError(work, "send", err)
	if outbox.KindOf(err) != outbox.FailureOutage && e.alarmed != r.Seq {
		e.alarmed = r.Seq
		t.relay.alarm(work, Alarm{
			Kind: AlarmBlocked, Topic: r.Topic, Detail: fmt.Sprintf("slot %s stands still at record %.200q: %v", e.session.SlotName(), r.ID, err),
		})
	}
	t.relay.log.ErrorContext(work, "record blocks its slot",
		slog.String("slot", e.session.SlotName()), slog.String("id", r.ID), slog.Int64("seq", r.Seq),
		slog.String("kind", outbox.KindOf(err).String()), slog.Any("error", err))
	return wait.Full(stop, t.retry.Next())
}
