package relay

import (
	"context"
	"time"

	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/outbox/driver"
)

// mostAsked bounds the topics of one call of CheckTopics.
const mostAsked = 10_000

// unavailable are the topics that the destination has said it does not take, and that
// share one probe: a call of the sink's CheckTopics. One probe a topic would be twenty
// thousand of them every BackoffMax, if so many are missing (rule N2).
type unavailable struct {
	checker driver.TopicChecker // nil where each topic has a probe of its own
	topics  map[string]*destination
	next    time.Time
	wait    jitter.Backoff
}

// put adds a topic, of which d.next is the next probe if it were alone. A new one may be
// about to appear, so the wait begins anew.
func (u *unavailable) put(d *destination) {
	if u.checker == nil {
		return
	}
	if d.shared {
		return
	}
	u.topics[d.topic], d.shared = d, true
	if !d.open {
		u.wait.Reset()
	}
	if len(u.topics) == 1 || d.next.Before(u.next) {
		u.next = d.next
	}
}

// remove takes a topic out.
func (u *unavailable) remove(d *destination) {
	if d.shared {
		delete(u.topics, d.topic)
		d.shared = false
	}
}

// ask returns the topics to ask about now, none before it is time. Of more than can be
// asked about at once, the map's order picks others each time.
func (u *unavailable) ask(now time.Time) []string {
	if len(u.topics) == 0 || now.Before(u.next) {
		return nil
	}
	names := make([]string, 0, min(len(u.topics), mostAsked))
	for name := range u.topics {
		if names = append(names, name); len(names) == mostAsked {
			break
		}
	}
	return names
}

// probeUnavailable asks the sink, if it is time, about the topics that it did not take.
// Of those that it takes now one record is tried next. However long the answer takes,
// the others wait for it a fifth of the time at most (invariant O7).
func (t *term) probeUnavailable(work context.Context) {
	u := &t.destinations.unavailable
	began := time.Now()
	names := u.ask(began)
	if len(names) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(work, t.relay.cfg.PublishTimeout)
	defer cancel()
	available, err := u.checker.CheckTopics(ctx, names)
	if err != nil && work.Err() == nil {
		t.relay.onError(work, "check_topics", err)
	}
	now := time.Now()
	for _, name := range available {
		if d := u.topics[name]; d != nil && err == nil {
			u.remove(d)
			d.next = now
		}
	}
	u.next = now.Add(max(u.wait.Next(), 4*now.Sub(began)))
}
