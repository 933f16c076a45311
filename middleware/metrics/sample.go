package metrics

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/outbox/admin"
)

// sample is the answer of a store.
type sample struct {
	at       time.Time
	readings []reading
}

// store is an outbox or an inbox to sample.
type store struct {
	name   string
	ask    func(ctx context.Context) ([]reading, error)
	errors Counter
	last   atomic.Pointer[sample]
}

func (s *store) set(last *sample) { s.last.Store(last) }

// sample asks the store.
func (s *store) sample(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	readings, err := s.ask(ctx)
	if err != nil {
		s.errors.Add(1)
		return fmt.Errorf("leat: sample of %q: %w", s.name, err)
	}
	s.set(&sample{time.Now(), readings})
	return nil
}

// fresh returns the last answer, unless it is too old.
func (s *store) fresh(most time.Duration) []reading {
	last := s.last.Load()
	if last == nil || time.Since(last.at) > most {
		return nil
	}
	return last.readings
}

// askInbox asks for the figures of an inbox.
func askInbox(name string, in inboxadmin.Inbox) func(ctx context.Context) ([]reading, error) {
	return func(ctx context.Context) ([]reading, error) {
		st, err := in.Stats(ctx)
		if err != nil {
			return nil, err
		}
		label := [3]string{name}
		return []reading{{inboxParked, label, float64(st.Parked)}, {inboxFailing, label, float64(st.Failing)}}, nil
	}
}

// askOutbox asks for the figures of an outbox.
func askOutbox(name string, ob admin.Outbox) func(ctx context.Context) ([]reading, error) {
	return func(ctx context.Context) ([]reading, error) {
		st, err := ob.Stats(ctx)
		if err != nil {
			return nil, err
		}
		label := [3]string{name}
		all := []reading{{outboxDelayed, label, float64(st.Delayed)}, {outboxLogBytes, label, float64(st.Bytes)}}
		if st.Ranges > 0 {
			all = append(all, reading{outboxRangesAhead, label, float64(st.RangesAhead)})
		}
		for i := range st.Groups {
			all = appendGroup(all, name, &st.Groups[i])
		}
		return all, nil
	}
}

func appendGroup(all []reading, name string, g *admin.GroupStats) []reading {
	label := func(last string) [3]string { return [3]string{name, g.Name, last} }
	all = append(all,
		reading{outboxHeld, label("retrying"), float64(g.Retrying)},
		reading{outboxHeld, label("parked"), float64(g.Parked)},
		reading{outboxHeld, label("waiting"), float64(max(0, g.Held-g.Retrying-g.Parked))},
		reading{outboxDead, label(""), float64(g.Dead)},
	)
	var log time.Duration
	for i := range g.Slots {
		s := &g.Slots[i]
		log = max(log, s.Lag)
		slot := label(strconv.Itoa(s.Slot))
		all = append(all,
			reading{outboxLag, slot, s.Lag.Seconds()},
			reading{outboxBacklog, slot, float64(s.Backlog)},
			reading{outboxLeaseRemaining, slot, s.LeaseLeft.Seconds()},
			reading{outboxPositionUnusable, slot, yes(s.Problem != "")},
		)
	}
	return append(all,
		reading{outboxOldest, label("log"), log.Seconds()},
		reading{outboxOldest, label("retrying"), g.OldestRetried.Seconds()},
		reading{outboxOldest, label("waiting"), g.OldestWaiting.Seconds()},
	)
}
