package replay

import (
	"context"
	"errors"
	"log/slog"

	"github.com/leat-go/leat/outbox/driver"
)

// skipGap notes the gap that err tells of, if it does and the replay may go on behind it.
func (r *run) skipGap(ctx context.Context, err error) bool {
	gap, ok := errors.AsType[*driver.HistoryGapError](err)
	if !ok || !r.cfg.SkipGaps {
		return false
	}
	r.cfg.Logger.WarnContext(ctx, "replay goes on behind what is no longer retained",
		slog.Int64("from_seq", gap.From), slog.Int64("to_seq", gap.To))
	r.report.Gaps = append(r.report.Gaps, *gap)
	return true
}
