package dashboard

import (
	"math"
	"time"

	"github.com/leat-go/leat/outbox/admin"
)

// rates fills in what was enqueued and settled in a second, over about the last minute. Both
// count numbers of the log, which have gaps: they are a little more than what there was.
func (o *outboxStatus) rates(name string, past []sample, now sample) {
	last := now.outboxes[name]
	for _, s := range past {
		first, ok := s.outboxes[name]
		took := last.at.Sub(first.at)
		if !ok || first.at.IsZero() || took > time.Minute || took < time.Second {
			continue
		}
		perSecond := func(n int64) float64 { return max(0, math.Round(float64(n)/took.Seconds()*10)/10) }
		o.Rate = perSecond(last.stats.LastSeq - first.stats.LastSeq)
		for i, g := range o.Groups {
			before, known := settled(first.stats, g.Name)
			after, still := settled(last.stats, g.Name)
			if known && still {
				o.Groups[i].Settled = perSecond(after - before)
			}
		}
		return
	}
}

// settled is how far a group has come: the numbers of the log that are behind it in all slots.
// It is not known before a relay has begun.
func settled(s admin.Stats, group string) (n int64, known bool) {
	for _, g := range s.Groups {
		if g.Name != group || len(g.Slots) == 0 {
			continue
		}
		n = s.LastSeq
		for _, slot := range g.Slots {
			n -= slot.Backlog
		}
		return n, true
	}
	return 0, false
}
