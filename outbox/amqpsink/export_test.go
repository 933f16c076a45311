package amqpsink

import "time"

// Age makes everything that s has learned older by d.
func (s *Sink) Age(d time.Duration) {
	now := s.learned.now
	s.learned.now = func() time.Time { return now().Add(d) }
}

// LearnedFor is how long a Sink believes what it has learned.
const LearnedFor = learnedFor

const DefaultMaxMessageBytes = defaultMaxMessageBytes
