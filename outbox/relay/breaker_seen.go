package relay

import (
	"sync"

	"github.com/leat-go/leat/outbox"
)

// seenTopics are topics that a term has read or sent: those that are out, and others. It
// is safe for concurrent use.
type seenTopics struct {
	mu      sync.Mutex
	up, out map[string]struct{}
}

const (
	// maxRuns bounds the runs of one topic that are examined in a page while no topic is out.
	maxRuns = 8
	// maxUp bounds the topics that are remembered although they are not out: the question
	// is only whether there is one.
	maxUp = 1024
)

func newSeenTopics() seenTopics {
	return seenTopics{up: make(map[string]struct{}), out: make(map[string]struct{})}
}

// noteRead records the topics of a page where they change. While some topics are out it records
// all of them, since a topic that is not out may come after thousands that are.
func (s *seenTopics) noteRead(records []outbox.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	topic, runs := "", 0
	for i := range records {
		if records[i].Topic == topic {
			continue
		}
		topic = records[i].Topic
		s.add(topic)
		if runs++; runs == maxRuns && len(s.out) == 0 {
			return
		}
	}
}

// noteAcked records that a record of topic was acknowledged.
func (s *seenTopics) noteAcked(topic string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.out, topic)
	s.add(topic)
}

// noteOut records that a topic is out.
func (s *seenTopics) noteOut(topic string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.up, topic)
	s.out[topic] = struct{}{}
}

// add records a topic, unless it is known to be out. The caller holds mu.
func (s *seenTopics) add(topic string) {
	if _, out := s.out[topic]; !out && len(s.up) < maxUp {
		s.up[topic] = struct{}{}
	}
}

// anyUp reports whether a topic was seen that is not out.
func (s *seenTopics) anyUp() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.up) > 0
}
