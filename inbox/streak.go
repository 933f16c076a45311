package inbox

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// A streak is logged once it has lasted for streakAge and has streakLength duplicates, and then
// every streakAge.
const (
	streakAge    = time.Minute
	streakLength = 8
)

// streak counts consecutive duplicates. A short streak is normal after a crash. A long one means
// that no work is done: the group was reset, or another service with the same consumer name gets
// the messages first.
type streak struct {
	mu          sync.Mutex
	count       int
	began, told time.Time
}

// add returns the length of the streak if it must be logged.
func (s *streak) add(outcome Outcome, now time.Time) (count int, lasted time.Duration, tell bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if outcome != OutcomeDuplicate {
		s.count = 0
		return 0, 0, false
	}
	if s.count == 0 {
		s.began, s.told = now, now
	}
	s.count++
	if s.count < streakLength || now.Sub(s.told) < streakAge {
		return 0, 0, false
	}
	s.told = now
	return s.count, now.Sub(s.began), true
}

// tellStreak logs that only duplicates arrive.
func (p *Processor) tellStreak(ctx context.Context, outcome Outcome) {
	if count, lasted, tell := p.repeats.add(outcome, time.Now()); tell {
		p.cfg.Logger.LogAttrs(ctx, slog.LevelWarn,
			"nothing but duplicates arrives: was the consumer group reset, or does another service use this inbox's name?",
			slog.String("consumer", p.consumer), slog.Int("duplicates", count), slog.Duration("lasted", lasted.Round(time.Second)))
	}
}
