package relay

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox"
)

// send calls the sink once, as soon as enough is left of the lease. It returns one result per
// record and the time that the call took. After an error the fate of every record is unknown.
func (s *sender) send(stop, work context.Context, records []outbox.Record) ([]outbox.Result, time.Duration, error) {
	r := s.relay
	if err := s.awaitLease(work); err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(work, r.cfg.PublishTimeout)
	defer cancel()
	if err := failpoint.Inject(ctx, failpoint.RelayLeaseLostWhileSending); err != nil {
		return nil, 0, err
	}
	s.alive = nil
	began := time.Now()
	results := s.sendAllowed(ctx, records)
	took := time.Since(began)
	if isOver(stop) {
		if err := failpoint.Inject(work, failpoint.RelayCloseMidBatch); err != nil {
			return nil, took, err
		}
	}
	if err := failpoint.Inject(work, failpoint.RelaySentNotAcked); err != nil {
		return nil, took, err
	}
	if len(results) != len(records) {
		return nil, took, fmt.Errorf("leat: sink returned %d results for %d records", len(results), len(records))
	}
	r.onPublish(ctx, records, results, took)
	if err := r.watch.sent(results); err != nil {
		r.log.DebugContext(ctx, "record not delivered", slog.Any("error", err))
	}
	return results, took, nil
}

// awaitLease returns as soon as enough is left of the lease for one call of the sink, or an error if the
// session has found out that it is over.
func (s *sender) awaitLease(work context.Context) error {
	err := s.term.lease.await(work, s.relay.cfg.PublishTimeout)
	if err == nil {
		if err = s.term.lost(); err != nil {
			s.relay.onFault(work, "renew", err)
			s.term.lose(err)
		}
	}
	return err
}

// firstFailure returns the first error of results that is a cause: that of a record that was not
// sent only if there is no other.
func firstFailure(results []outbox.Result) error {
	var first error
	for i := range results {
		err := results[i].Err
		if err == nil {
			continue
		}
		if outbox.KindOf(err) != outbox.FailureNotSent {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}
