package diagnose

import (
	"context"
	"fmt"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox/admin"
)

// logBounds are the bounds that the log's Maintenance has. They come from flags, since the database does
// not know them.
type logBounds struct {
	// retention is how long messages are kept, maxBytes the most that the log may have; 0: not bounded.
	retention time.Duration
	maxBytes  int64
	// tail is the size above which an open-ended range is not closed.
	tail int64
}

func (c *Doctor) logBounds() logBounds {
	return logBounds{retention: time.Duration(c.OutboxRetention), maxBytes: int64(c.OutboxMaxBytes), tail: int64(c.MaxTailScan)}
}

// ranges fails if no range is prepared ahead, or if the open-ended range that messages then use is too
// large.
func (o outboxChecks) ranges(ctx context.Context) ([]doctor.Finding, error) {
	lister, ok := o.store.(admin.RangeLister)
	if !ok {
		return nil, nil
	}
	ranges, err := lister.Ranges(ctx)
	if err != nil {
		return nil, err
	}
	stats, err := o.store.Stats(ctx)
	if err != nil {
		return nil, err
	}
	var all []doctor.Finding
	if newStatus(time.Time{}, stats, nil, ranges).RangesAhead == 0 {
		all = append(all, doctor.Finding{
			Verdict: doctor.Fail, Text: "no range is ahead of the sequence: the open-ended one is in use, or soon will be", Advice: "leat retention run",
		})
	}
	for _, r := range ranges {
		if r.Open() && r.From <= stats.LastSeq && r.Bytes > o.log.tail {
			all = append(all, doctor.Finding{
				Verdict: doctor.Fail,
				Text: fmt.Sprintf("the open-ended range is in use and has %s: maintenance does not close one above %s, and deletes old messages in chunks",
					show.Bytes(r.Bytes), show.Bytes(o.log.tail)),
				Advice: "see docs/operations.md, retention: it can be closed in one round at a quiet hour, in which producers wait about a second a gigabyte",
			})
		}
	}
	return all, nil
}

// size warns if the oldest messages will be deleted before their retention ends, because the log reaches
// its maximum size.
func (o outboxChecks) size(ctx context.Context) ([]doctor.Finding, error) {
	searcher, ok := o.store.(admin.Manager)
	if !ok || o.log.maxBytes == 0 {
		return nil, nil
	}
	stats, err := o.store.Stats(ctx)
	if err != nil {
		return nil, err
	}
	first, err := searcher.Search(ctx, admin.MessageQuery{Limit: 1, OmitPayload: true})
	if err != nil || len(first.Records) == 0 {
		return nil, err
	}
	return o.log.judge(stats.Bytes, time.Since(first.Records[0].CreatedAt)), nil
}

// judge assumes that the log keeps growing as fast as it has grown to size in the time in.
func (b logBounds) judge(size int64, in time.Duration) []doctor.Finding {
	advice := "raise max_bytes, or lower retention: what a replay can send again is what is kept"
	if size >= b.maxBytes {
		return []doctor.Finding{{
			Verdict: doctor.Warn, Advice: advice,
			Text: fmt.Sprintf("the log has %s of %s: the oldest messages go, after %s", show.Bytes(size), show.Bytes(b.maxBytes), show.Duration(in)),
		}}
	}
	const never = 100 * 365 * 24 * time.Hour
	// The time from empty to MaxBytes.
	full := time.Duration(min(float64(in)/float64(max(size, 1))*float64(b.maxBytes), float64(never)))
	if in <= 0 || full == never || b.retention > 0 && full >= b.retention {
		return nil
	}
	return []doctor.Finding{{
		Verdict: doctor.Warn, Advice: advice,
		Text: fmt.Sprintf("the log has %s after %s, and will have %s in %s: then messages go after %s, not after %s",
			show.Bytes(size), show.Duration(in), show.Bytes(b.maxBytes), show.Duration(full-in), show.Duration(full), keptFor(b.retention)),
	}}
}

func keptFor(age time.Duration) string {
	if age == 0 {
		return "never"
	}
	return show.Duration(age)
}
