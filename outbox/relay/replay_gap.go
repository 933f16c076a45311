package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
)

// ErrHistoryGap is wrapped by the error of a Replay that has come upon records which are
// no longer retained: those that it was to begin with, or those that retention has dropped
// while it was under way.
var ErrHistoryGap = errors.New("leat: history to be replayed is no longer retained")

// HistoryGapError is an ErrHistoryGap that says what is missing.
type HistoryGapError struct {
	// From and To are the first and the last outbox.Record.Seq that are missing. Some of
	// the numbers between them may never have been a record's.
	From, To int64
}

// Error names the numbers.
func (e *HistoryGapError) Error() string {
	return fmt.Sprintf("%v: seq %d to %d", ErrHistoryGap, e.From, e.To)
}

// Unwrap returns ErrHistoryGap.
func (e *HistoryGapError) Unwrap() error {
	return ErrHistoryGap
}

// skipGap notes the gap that err tells of, if it does and the replay may go on behind it.
func (r *replay) skipGap(ctx context.Context, err error) bool {
	gap, ok := errors.AsType[*HistoryGapError](err)
	if !ok || !r.cfg.SkipGaps {
		return false
	}
	r.cfg.Logger.WarnContext(ctx, "replay goes on behind what is no longer retained",
		slog.Int64("from_seq", gap.From), slog.Int64("to_seq", gap.To))
	r.report.Gaps = append(r.report.Gaps, *gap)
	return true
}
