package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/internal/storable"
	"github.com/leat-go/leat/outbox/driver"
)

// Bounds of what is stored about outages: any producer can choose topics.
const (
	maxKept       = 100
	maxKeptTopic  = 255
	maxKeptErrors = 500
)

// keep stores the outages for operators, if they have changed since they were last stored: a
// breaker has opened or closed, or its cause has changed by more than numbers. A relay whose
// destinations are up stores nothing. After an error, the next change tries again.
func (bs *breakers) keep(ctx context.Context, open []BreakerState) {
	if bs.keeper == nil {
		return
	}
	now := make(map[string]string, len(open))
	var all []driver.Outage
	for i := range open {
		if errors.Is(open[i].Err, ErrPaused) {
			continue
		}
		cause := causeOf(&open[i])
		now[open[i].Topic] = cause
		if len(all) < maxKept {
			text := storable.AtMost(cmp.Or(errors.Unwrap(open[i].Err), open[i].Err).Error(), maxKeptErrors) // Cause contains the kind
			now[open[i].Topic] += "\x00" + logger.WithoutNumbers(text)
			all = append(all, driver.Outage{
				Topic: storable.AtMost(open[i].Topic, maxKeptTopic), Since: open[i].Since, Cause: cause, Error: text,
			})
		}
	}
	if maps.Equal(now, bs.kept) {
		return
	}
	if more := len(now) - len(all); more > 0 {
		all = append(all, driver.Outage{Since: all[0].Since, Cause: all[0].Cause, Error: fmt.Sprintf("%d more topics are out", more)})
	}
	if err := bs.keeper.KeepOutages(ctx, all); err != nil {
		if ctx.Err() == nil {
			bs.relay.onError(ctx, "keep_outages", err)
		}
		return
	}
	bs.kept = now
}

func causeOf(s *BreakerState) string {
	switch {
	case s.Unavailable:
		return "unavailable"
	case s.Suspect:
		return "suspect"
	default:
		return "outage"
	}
}
