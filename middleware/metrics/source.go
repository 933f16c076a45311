package metrics

import (
	"context"
	"sync"

	inboxdriver "github.com/leat-go/leat/inbox/driver"
)

// Source observes subscribers that read from a broker, of any number of consumer groups. It is
// safe for concurrent use.
type Source struct {
	m *Metrics

	mu     sync.Mutex
	groups map[string]*series[sourceTopic] // by the value of the label
}

var _ inboxdriver.SourceHook = (*Source)(nil)

type sourceTopic struct {
	outcomes map[string]Counter
	deleted  Counter
	wentBack Counter
}

// Source returns an observer.
func (m *Metrics) Source() *Source {
	return &Source{m: m, groups: map[string]*series[sourceTopic]{}}
}

// of returns the series of a topic.
func (s *Source) of(group, topic string) sourceTopic {
	s.mu.Lock()
	topics, ok := s.groups[group]
	if !ok {
		group = s.m.groups.fit(group)
		if topics, ok = s.groups[group]; !ok {
			topics = newSeries(s.m.topics, func(topic string) sourceTopic {
				outcomes := []string{"acked", "nacked", "malformed", "abandoned"}
				return sourceTopic{
					s.m.counters(sourceDeliveries, outcomes, group, topic), s.m.counter(sourceDeleted, group, topic),
					s.m.counter(sourceWentBack, group, topic),
				}
			})
			s.groups[group] = topics
		}
	}
	s.mu.Unlock()
	return topics.of(topic)
}

// OnDriverSource implements driver.SourceHook of inboxes. It counts deliveries by outcome, the
// offsets that the broker deleted before the group had read them, and those that the group's
// database has lost. The series of a topic begin at 0 when a partition of it is assigned.
func (s *Source) OnDriverSource(_ context.Context, e inboxdriver.SourceEvent) {
	switch topic := s.of(e.Group, e.Topic); e.Kind {
	case "assigned":
		topic.deleted.Add(float64(max(0, e.Deleted)))
		topic.wentBack.Add(float64(max(0, e.WentBack)))
	default:
		count(topic.outcomes, e.Kind)
	}
}
