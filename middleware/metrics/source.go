package metrics

import "sync"

// Source observes what reads from a broker, for one consumer group after another. Packages
// such as kafkametrics tell it of their hooks' events. It is safe for concurrent use.
type Source struct {
	m        *Metrics
	outcomes []string

	mu     sync.Mutex
	groups map[string]*series[sourceTopic] // by what the label says
}

type sourceTopic struct {
	outcomes map[string]Counter
	deleted  Counter
}

// Source returns an observer. outcomes are how deliveries can end.
func (m *Metrics) Source(outcomes ...string) *Source {
	return &Source{m: m, outcomes: outcomes, groups: map[string]*series[sourceTopic]{}}
}

// of returns the series of a topic.
func (s *Source) of(group, topic string) sourceTopic {
	s.mu.Lock()
	topics, ok := s.groups[group]
	if !ok {
		group = s.m.groups.fit(group)
		if topics, ok = s.groups[group]; !ok {
			topics = newSeries(s.m.topics, func(topic string) sourceTopic {
				return sourceTopic{
					s.m.counters(sourceDeliveries, s.outcomes, group, topic), s.m.counter(sourceDeleted, group, topic),
				}
			})
			s.groups[group] = topics
		}
	}
	s.mu.Unlock()
	return topics.of(topic)
}

// Assigned notes that a group reads a topic, so that its series begin at 0, and counts the
// offsets that the broker has deleted before the group has read them.
func (s *Source) Assigned(group, topic string, deleted int64) {
	s.of(group, topic).deleted.Add(float64(max(0, deleted)))
}

// Delivered counts a delivery that has ended; one whose outcome is not among those that
// were named does not count.
func (s *Source) Delivered(group, topic, outcome string) {
	count(s.of(group, topic).outcomes, outcome)
}
