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

// AlarmBlocked is raised if a TransactionalSink cannot deliver a record, so that its slot is
// stuck. It is raised once per record and lease, and ends with either.
const AlarmBlocked outbox.AlarmKind = "blocked"

// exactMode delivers pages together with their positions, each in one transaction of the
// destination.
//
// Only the destination knows what it has committed. So a term begins by asking it (Fence, which
// also ends all earlier incarnations, then Seek), and the session only advances after the
// destination has confirmed the commit. Without a confirmation, the term ends, and the next one
// asks again. The position that the session stores is a copy, for retention and for operators.
type exactMode struct {
	holdsNothing

	s       *sender
	sink    driver.TransactionalSink
	session driver.Positioned
	blocked int64 // the number of the record of an AlarmBlocked that lasts
}

var errNotPositioned = fmt.Errorf("%w: its sessions implement no driver.Positioned, which a TransactionalSink needs", driver.ErrSourceUnusable)

func newExactMode(s *sender, sink driver.TransactionalSink) (mode, error) {
	session, ok := s.term.session.(driver.Positioned)
	if !ok {
		return nil, errNotPositioned
	}
	return &exactMode{s: s, sink: sink, session: session}, nil
}

// deliver sends page with its position and then advances the session. If one record cannot be
// delivered, it commits the records before it, and then stays at that record: there is only one
// position, so nothing can pass the record.
func (m *exactMode) deliver(stop, work context.Context, page driver.Page) error {
	s := m.s
	for done, until := 0, len(page.Records); done < len(page.Records); {
		if err := s.awaitLease(work); err != nil {
			return err
		}
		err := m.commit(work, page, done, until)
		if prefix, ok := errors.AsType[*driver.PrefixError](err); ok && prefix.N >= 0 && prefix.N < until-done {
			if prefix.N > 0 {
				until = done + prefix.N
				continue
			}
			until = len(page.Records)
			if s.term.pausedOnce(prefix.Err) {
				return errLeft
			}
			if !m.waitBlocked(stop, work, &page.Records[done], prefix.Err) {
				return nil
			}
			continue
		}
		if err != nil {
			return s.term.fault(work, "send", err)
		}
		s.retry.Reset()
		m.unblock()
		if err := s.advance(work, page, done, until); err != nil {
			return err
		}
		done, until = until, len(page.Records)
	}
	return nil
}

// commit delivers the records from done to until of page with the position after them. For an
// empty page it only delivers the position.
func (m *exactMode) commit(work context.Context, page driver.Page, done, until int) error {
	position, err := m.session.Position(page, until)
	if err != nil {
		return err
	}
	r := m.s.relay
	ctx, cancel := context.WithTimeout(work, r.cfg.PublishTimeout)
	defer cancel()
	records := page.Records[done:until]
	began := time.Now()
	if err = r.firstWithheld(records); err == nil {
		err = m.sink.SendWith(ctx, m.session.SlotName(), records, position)
	}
	if len(records) > 0 {
		results := transactionResults(len(records), err)
		r.onPublish(ctx, records, results, time.Since(began))
		_ = r.watch.sent(results) // the first failure, which is err
	}
	if err == nil {
		err = failpoint.Inject(work, failpoint.RelaySentNotAcked)
	}
	return err
}

// transactionResults returns the results of n records of one transaction, which has ended with
// err. If it failed, none of them was delivered.
func transactionResults(n int, err error) []outbox.Result {
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

// waitBlocked reports that record r cannot be delivered, and waits. It returns false if
// stop ends before it is time to try again.
func (m *exactMode) waitBlocked(stop, work context.Context, r *outbox.Record, err error) bool {
	s, slot := m.s, m.session.SlotName()
	s.term.inHand(r)
	s.relay.notifyError(work, "send", err) // for the hooks only: the error is logged below
	if outbox.KindOf(err) != outbox.FailureOutage && m.blocked != r.Seq {
		m.unblock()
		m.blocked = r.Seq
		s.relay.watch.raise(work, s.relay, standing{kind: AlarmBlocked, slot: s.term.slot}, outbox.AlarmEvent{
			Kind: AlarmBlocked, Topic: r.Topic, Detail: fmt.Sprintf("slot %s stands still at record %.200q: %v", slot, r.ID, err),
		})
	}
	level := slog.LevelError
	if errors.Is(err, ErrPaused) {
		level = slog.LevelInfo
	}
	s.relay.log.LogAttrs(work, level, "record blocks its slot",
		slog.String("slot", slot), slog.String("message_id", r.ID), slog.Int64("seq", r.Seq),
		slog.String("kind", outbox.KindOf(err).String()), slog.Any("error", err))
	return wait.Full(stop, s.retry.Next())
}

// unblock records that the record of the last AlarmBlocked was delivered.
func (m *exactMode) unblock() {
	if m.blocked != 0 {
		m.blocked = 0
		m.s.relay.watch.clear(standing{kind: AlarmBlocked, slot: m.s.term.slot})
	}
}
