package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// ErrPaused is wrapped by the error of a record whose topic or group an operator has paused,
// which is an outage, so that no attempt is counted; and by the error of a RunOnce that has left
// such records undelivered.
var ErrPaused = errors.New("leat: paused by an operator")

var errTopicPaused = fmt.Errorf("%w: %w", ErrPaused, outbox.ErrTopicUnavailable)

// pauses are the topics that an operator has paused. It is safe for concurrent use.
//
// A paused topic counts as one that the destination does not take: its records are set
// aside at once, and the others go on. If all is paused, nothing is set aside, as if the
// destination were unavailable.
type pauses struct {
	asking   sync.Mutex // so that an older answer does not replace a newer one
	answered time.Time  // guarded by asking
	patterns atomic.Pointer[[]string]
}

// refresh asks source what is paused. It does nothing for a source that cannot be paused.
func (p *pauses) refresh(ctx context.Context, source driver.Source, timeout time.Duration) error {
	pausable, ok := source.(driver.Pausable)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	p.asking.Lock()
	defer p.asking.Unlock()
	patterns, err := pausable.Paused(ctx)
	if err == nil {
		p.patterns.Store(&patterns)
		p.answered = time.Now()
	}
	return err
}

// note stores what is paused, as reported by a source in the answer to another question at asked.
// It is ignored while another answer is pending, or if one has arrived since.
func (p *pauses) note(asked time.Time, patterns []string) {
	if !p.asking.TryLock() {
		return
	}
	defer p.asking.Unlock()
	if !p.answered.After(asked) {
		p.patterns.Store(&patterns)
		p.answered = time.Now()
	}
}

// known returns when the source last reported what is paused.
func (p *pauses) known() time.Time {
	p.asking.Lock()
	defer p.asking.Unlock()
	return p.answered
}

// now returns the patterns that are paused.
func (p *pauses) now() []string {
	if patterns := p.patterns.Load(); patterns != nil {
		return *patterns
	}
	return nil
}

// all reports whether the whole group is paused.
func (p *pauses) all() bool {
	return slices.Contains(p.now(), "*")
}

// refusal returns the error of records of topic while patterns are paused; nil if it is not
// paused. Use the same patterns for several records: if the answer changed between two records of
// a key, the later one could pass.
func refusal(patterns []string, topic string) error {
	switch {
	case len(patterns) == 0 || !topics.MatchAny(patterns, topic):
		return nil
	case slices.Contains(patterns, "*"):
		return ErrPaused
	default:
		return errTopicPaused
	}
}

// errLeft ends a term that runs once and has nothing left but records that are paused.
var errLeft = fmt.Errorf("%w: records are left", ErrPaused)

// pausedOnce reports whether the term runs once and err, of the record that it is at, comes from
// a pause.
func (t *term) pausedOnce(err error) bool {
	return t.once && errors.Is(err, ErrPaused)
}

// onlyPaused reports whether all remaining records of the page are paused.
func (d *pageDelivery) onlyPaused() bool {
	patterns := d.m.s.relay.pauses.now()
	return len(patterns) > 0 && !slices.ContainsFunc(d.todo, func(i int) bool {
		return refusal(patterns, d.page.Records[i].Topic) == nil
	})
}

// onlyPaused reports whether all records that the term will try again are paused.
func (h *heldRecords) onlyPaused() bool {
	patterns := h.s.relay.pauses.now()
	if len(patterns) == 0 || h.dueMore || len(h.retries) == 0 {
		return false
	}
	for _, r := range h.retries {
		if refusal(patterns, r.topic) == nil {
			return false
		}
	}
	return true
}
