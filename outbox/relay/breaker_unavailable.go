package relay

import (
	"context"
	"errors"
	"time"

	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/outbox/driver"
)

// maxChecked bounds the topics of one call of CheckTopics.
const maxChecked = 10_000

// unavailableTopics are the topics that the destination itself has said it does not take. They
// share one probe, a call of the sink's CheckTopics: with a probe for each topic, twenty thousand
// missing topics would be twenty thousand probes per BackoffMax (rule N2).
type unavailableTopics struct {
	checker   driver.TopicChecker // nil if each topic has its own probe
	topics    map[string]*breaker
	nextProbe time.Time
	wait      jitter.Backoff
}

// add adds a topic, whose own next probe is b.nextProbe. A topic that was not out may
// appear soon, so the wait begins anew.
func (u *unavailableTopics) add(b *breaker) {
	if u.checker == nil || b.shared {
		return
	}
	u.topics[b.topic], b.shared = b, true
	if !b.open {
		u.wait.Reset()
	}
	if len(u.topics) == 1 || b.nextProbe.Before(u.nextProbe) {
		u.nextProbe = b.nextProbe
	}
}

// remove removes a topic, if it is in u.
func (u *unavailableTopics) remove(b *breaker) {
	if b.shared {
		delete(u.topics, b.topic)
		b.shared = false
	}
}

// due returns the topics to check now, none before it is time. If there are more than one call
// can check, the order of the map selects different ones each time.
func (u *unavailableTopics) due(now time.Time) []string {
	if len(u.topics) == 0 || now.Before(u.nextProbe) {
		return nil
	}
	names := make([]string, 0, min(len(u.topics), maxChecked))
	for name := range u.topics {
		if names = append(names, name); len(names) == maxChecked {
			break
		}
	}
	return names
}

// checkUnavailable asks the sink, if it is time, about the topics that it did not take. Those
// that it takes now are probed next with one record each. However long the answers take, the
// other topics spend no more than a fifth of the time waiting for them (invariant O7).
func (bs *breakers) checkUnavailable(work context.Context) {
	u, r := &bs.unavailable, bs.relay
	began := time.Now()
	names := u.due(began)
	if len(names) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(work, r.cfg.PublishTimeout)
	defer cancel()
	available, err := u.checker.CheckTopics(ctx, names)
	if err != nil && work.Err() == nil {
		r.onError(work, "check_topics", err)
	}
	now := time.Now()
	for _, name := range names {
		if b := u.topics[name]; errors.Is(b.err, ErrPaused) && refusal(r.pauses.now(), name) == nil {
			u.remove(b) // the pause is over: a probe shows whether the destination takes it
			b.nextProbe = now
		}
	}
	for _, name := range available {
		if b := u.topics[name]; b != nil && err == nil && refusal(r.pauses.now(), name) == nil {
			u.remove(b)
			b.nextProbe = now
		}
	}
	u.nextProbe = now.Add(max(u.wait.Next(), 4*now.Sub(began)))
	bs.publish()
}
