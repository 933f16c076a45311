package relay

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// ErrReplayStopped is wrapped by the error of a Replay that has met a record which cannot be
// delivered and may not be skipped.
var ErrReplayStopped = errors.New("leat: replay stopped at a record that cannot be delivered")

// Replay sends retained history once more, in the order of Seq, so that the order of each key is
// kept, and with the original ids of the records: an inbox recognises them. Record.Replay names
// the run, so that a destination that drops a relay's repeats still takes them. It returns when
// all of history is sent, when ctx ends, or at a record that cannot be delivered
// (ReplayConfig.SkipFailed) or that is no longer retained (ReplayConfig.SkipGaps).
//
// The set of records is fixed when the replay begins: records that are committed later are left
// out. Relays that run at the same time are not disturbed, and positions do not change; a relay
// that sends to the same topic at the same time sends later records of a key before the replayed
// ones.
//
// Failed records are tried again with backoff, in the same order. Failures of the source and
// outages of the destination are retried until ctx ends, unknown ones up to
// ReplayConfig.Attempts. The report is valid with every error; its Position resumes the replay,
// and repeats at most the records behind the first that was not delivered.
//
// Errors: those of ctx; the operating system's, if it has no random bytes; one that wraps
// outbox.ErrInvalidConfig for invalid arguments, driver.ErrSourceUnusable, ErrReplayStopped, or
// driver.ErrHistoryGap, a *driver.HistoryGapError, for records that are no longer retained.
func Replay(ctx context.Context, history driver.History, sink driver.Sink, cfg ReplayConfig) (ReplayReport, error) {
	if history == nil {
		return ReplayReport{}, outbox.ConfigError("history", nil, "must not be nil")
	}
	if sink == nil {
		return ReplayReport{}, outbox.ConfigError("sink", nil, "must not be nil")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return ReplayReport{}, err
	}
	name, err := ids.New()
	if err != nil {
		return ReplayReport{}, err
	}
	r := &replay{
		history: history, sink: sink, cfg: cfg, name: name, began: time.Now(),
		retry: jitter.Backoff{Min: cfg.BackoffMin, Max: cfg.BackoffMax},
	}
	r.report.Position = cfg.Position
	err = r.run(ctx)
	r.report.Took = time.Since(r.began)
	return r.report, err
}

// ReplayReport is the result of a replay.
type ReplayReport struct {
	// Sent is the number of records that the sink has acknowledged, Skipped that of records that
	// could not be delivered.
	Sent, Skipped int64
	// Failures are the first thousand records that were skipped, and the one at which the replay
	// has stopped.
	Failures []ReplayFailure
	// Gaps are the records that were no longer retained (ReplayConfig.SkipGaps).
	Gaps []driver.HistoryGapError
	// Position is where the replay can be resumed (ReplayConfig.Position).
	Position string
	// LastSeq is the number of the last record before Position, 0 if there is none.
	LastSeq int64
	// FirstSeq is the least Seq that this replay could meet, EndSeq one past the greatest, so
	// progress is LastSeq of EndSeq-1. The replay may be complete before that; see Done. Both are
	// 0 if the source does not know (driver.Playback).
	FirstSeq, EndSeq int64
	// Done is set if the replay is complete.
	Done bool
	// Took is how long the replay took.
	Took time.Duration
}

// ReplayFailure is a record that could not be delivered.
type ReplayFailure struct {
	// ID, Seq and Topic are the fields of the record. Topic is the topic that it was sent to.
	ID    string
	Seq   int64
	Topic string
	// Err is the last error.
	Err error
}

// maxFailures bounds ReplayReport.Failures.
const maxFailures = 1000

// replay is one call of Replay.
type replay struct {
	history  driver.History
	sink     driver.Sink
	cfg      ReplayConfig
	name     string // outbox.Record.Replay
	report   ReplayReport
	retry    jitter.Backoff
	began    time.Time
	sendNext time.Time // the rate allows no record before this
}

func (r *replay) run(ctx context.Context) (err error) {
	playback, err := r.begin(ctx)
	if err != nil {
		return err
	}
	defer func() {
		r.audit(ctx, playback, err)
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if err := playback.Close(closing); err != nil {
			r.cfg.Logger.WarnContext(ctx, "replay not closed", slog.Any("error", err))
		}
	}()
	r.report.Position = playback.Position()
	r.report.FirstSeq, r.report.EndSeq = playback.Bounds()
	for {
		records, err := r.read(ctx, playback)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			r.report.Done = true
			return nil
		}
		if err := r.deliver(ctx, playback, records); err != nil {
			return err
		}
	}
}

// audit records how the replay has ended. If that fails, the replay is not affected.
func (r *replay) audit(ctx context.Context, p driver.Playback, err error) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	end := driver.ReplayEnd{
		Sent: r.report.Sent, Skipped: r.report.Skipped, Gaps: len(r.report.Gaps),
		LastSeq: r.report.LastSeq, Position: r.report.Position, Done: r.report.Done, Err: err,
	}
	if err := p.End(bounded, end); err != nil {
		r.cfg.Logger.WarnContext(ctx, "the end of the replay is not in the audit", slog.Any("error", err))
	}
}

// begin opens history, trying again while the source is unavailable.
func (r *replay) begin(ctx context.Context) (driver.Playback, error) {
	for {
		p, err := r.history.Begin(ctx, driver.ReplayOrder{Position: r.cfg.Position, Actor: r.cfg.Actor, Reason: r.cfg.Reason})
		if err == nil {
			return p, nil
		}
		if err := r.again(ctx, "begin", err); err != nil {
			return nil, err
		}
	}
}

// read returns the next records, trying again while the source is unavailable.
func (r *replay) read(ctx context.Context, p driver.Playback) ([]outbox.Record, error) {
	for {
		records, err := p.Read(ctx, r.cfg.pageSize())
		if err == nil {
			return records, nil
		}
		if r.skipGap(ctx, err) {
			continue
		}
		if err := r.again(ctx, "read", err); err != nil {
			return nil, err
		}
	}
}

// again waits before operation is tried again, or returns the error that ends the
// replay.
func (r *replay) again(ctx context.Context, operation string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, driver.ErrSourceUnusable) || errors.Is(err, outbox.ErrInvalidConfig) || errors.Is(err, driver.ErrHistoryGap) {
		return err
	}
	r.cfg.Logger.WarnContext(ctx, "replay waits", slog.String("operation", operation), slog.Any("error", err))
	_ = wait.For(ctx, r.retry.Next())
	return ctx.Err()
}

// skipGap records the gap in err, if it is one and the replay may continue after it.
func (r *replay) skipGap(ctx context.Context, err error) bool {
	gap, ok := errors.AsType[*driver.HistoryGapError](err)
	if !ok || !r.cfg.SkipGaps {
		return false
	}
	r.cfg.Logger.WarnContext(ctx, "replay goes on behind what is no longer retained",
		slog.Int64("from_seq", gap.From), slog.Int64("to_seq", gap.To))
	r.report.Gaps = append(r.report.Gaps, *gap)
	return true
}
