package diagnose

import (
	"context"
	"fmt"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/outbox/admin"
)

// logBounds are those of the Maintenance of the log, which only who runs it knows.
type logBounds struct {
	// retention is how long messages are kept, maxBytes what bounds the log; 0: nothing.
	retention time.Duration
	maxBytes  int64
	// tail is the size from which an open-ended range is not closed.
	tail int64
}

func (c *Doctor) logBounds() logBounds {
	return logBounds{retention: time.Duration(c.OutboxRetention), maxBytes: int64(c.OutboxMaxBytes), tail: int64(c.MaxTailScan)}
}

// ranges tells that none is ahead, and that the one in which messages go then is too large.
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

// size tells when messages begin to go for want of space, before their time.
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

// judge expects a log that has grown to a size in a time to go on like that.
func (b logBounds) judge(size int64, in time.Duration) []doctor.Finding {
	advice := "raise max_bytes, or lower retention: what a replay can send again is what is kept"
	if size >= b.maxBytes {
		return []doctor.Finding{{
			Verdict: doctor.Warn, Advice: advice,
			Text: fmt.Sprintf("the log has %s of %s: the oldest messages go, after %s", show.Bytes(size), show.Bytes(b.maxBytes), show.Duration(in)),
		}}
	}
	const never = 100 * 365 * 24 * time.Hour
	// From empty to MaxBytes.
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
