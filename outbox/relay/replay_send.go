package relay

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// replayed is a record in flight, with its failures so far.
type replayed struct {
	record   *outbox.Record // as it was read
	attempts int
}

// deliver sends records until each is acknowledged or skipped.
func (r *replay) deliver(ctx context.Context, p driver.Playback, records []outbox.Record) error {
	if err := r.throttle(ctx, len(records)); err != nil {
		return err
	}
	waiting := make([]replayed, len(records))
	for i := range records {
		waiting[i].record = &records[i]
	}
	for len(waiting) > 0 {
		results := r.send(ctx, waiting)
		left, failed, err := r.sort(waiting, results)
		r.reached(p, records, left)
		if err != nil {
			return err
		}
		waiting = left
		if len(waiting) == 0 {
			r.retry.Reset()
			break
		}
		if failed == nil && len(left) < len(results) {
			continue // records after one that was skipped
		}
		r.cfg.Logger.WarnContext(ctx, "replay waits", slog.String("operation", "send"), slog.Any("error", failed))
		if wait.For(ctx, r.retry.Next()) != nil {
			return ctx.Err()
		}
	}
	r.cfg.Progress(ctx, r.report)
	return ctx.Err()
}

// throttle waits until the rate allows n more records.
func (r *replay) throttle(ctx context.Context, n int) error {
	if r.cfg.Rate == 0 {
		return ctx.Err()
	}
	now := time.Now()
	if early := r.sendNext.Sub(now); early > 0 {
		if wait.For(ctx, early) != nil {
			return ctx.Err()
		}
		now = now.Add(early)
	}
	r.sendNext = now.Add(time.Duration(n) * time.Second / time.Duration(r.cfg.Rate))
	return ctx.Err()
}

// send calls the sink once.
func (r *replay) send(ctx context.Context, waiting []replayed) []outbox.Result {
	records := make([]outbox.Record, len(waiting))
	for i, w := range waiting {
		records[i] = *w.record
		records[i].Topic, records[i].Replay = r.cfg.Topic(w.record), r.name
	}
	bounded, cancel := context.WithTimeout(ctx, r.cfg.PublishTimeout)
	defer cancel()
	results := r.sink.Send(bounded, records)
	if len(results) == len(records) {
		return results
	}
	err := fmt.Errorf("leat: sink returned %d results for %d records", len(results), len(records))
	results = make([]outbox.Result, len(records))
	for i := range results {
		results[i].Err = err
	}
	return results
}

// sort counts the records that were acknowledged and given up, and returns the rest, which must
// be sent again, with one of their errors if it requires a wait. err ends the replay.
func (r *replay) sort(waiting []replayed, results []outbox.Result) (left []replayed, failed, err error) {
	for i, w := range waiting {
		cause := results[i].Err
		if cause == nil {
			r.report.Sent++
			continue
		}
		final := false
		switch outbox.KindOf(cause) {
		case outbox.FailurePermanent:
			final = true
		case outbox.FailureUnknown:
			w.attempts++
			final = w.attempts >= r.cfg.Attempts
			failed = cause
		case outbox.FailureOutage:
			failed = cause
		case outbox.FailureNotSent:
		}
		if !final {
			left = append(left, w)
			continue
		}
		r.fail(w.record, cause)
		if r.cfg.SkipFailed {
			r.report.Skipped++
			continue
		}
		left = append(left, w)
		if err == nil {
			err = fmt.Errorf("%w: id %.200q, seq %d: %w", ErrReplayStopped, w.record.ID, w.record.Seq, cause)
		}
	}
	return left, failed, err
}

func (r *replay) fail(record *outbox.Record, err error) {
	if len(r.report.Failures) < maxFailures {
		r.report.Failures = append(r.report.Failures, ReplayFailure{
			ID: record.ID, Seq: record.Seq, Topic: r.cfg.Topic(record), Err: err,
		})
	}
}

// reached moves the report's position to before the first remaining record.
func (r *replay) reached(p driver.Playback, records []outbox.Record, left []replayed) {
	done := len(records)
	if len(left) > 0 {
		for done = range records {
			if &records[done] == left[0].record {
				break
			}
		}
	}
	if done > 0 {
		r.report.LastSeq = records[done-1].Seq
		r.report.Position = p.PositionAfter(&records[done-1])
	}
}
