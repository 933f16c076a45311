package basis

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/leat-go/leat/internal/topics"
)

// Topics is a change of the topics that a group reads.
type Topics struct {
	Group string
	// Then and Now are patterns, nil for all topics.
	Then, Now []string
	// Left is the number of waiting messages that only Then selects.
	Left int64
	// Passed is how many of the newest messages that only Now selects lie behind the position.
	Passed int64
}

// SameTopics reports whether two lists of patterns are the same. nil stands for all topics.
func SameTopics(a, b []string) bool { return slices.Equal(AllTopics(a), AllTopics(b)) }

// AllTopics returns the patterns as they are compared: sorted, each once, and never nil.
func AllTopics(patterns []string) []string {
	if len(patterns) == 0 || slices.Contains(patterns, "*") {
		return []string{"*"}
	}
	sorted := slices.Clone(patterns)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// Leaves reports whether Left counts a message of topic.
func (c *Topics) Leaves(topic string) bool {
	return topics.MatchAny(c.Then, topic) && !topics.MatchAny(c.Now, topic)
}

// Passes reports whether Passed counts a message of topic.
func (c *Topics) Passes(topic string) bool {
	return topics.MatchAny(c.Now, topic) && !topics.MatchAny(c.Then, topic)
}

// Err refuses a change that leaves messages behind.
func (c *Topics) Err() error {
	if c.Left == 0 {
		return nil
	}
	return Refuse(ErrOtherTopics, fmt.Sprintf("group %.100q read %.100q and is to read %.100q: %d wait", c.Group, AllTopics(c.Then), AllTopics(c.Now), c.Left))
}

// Log notes a change that was made.
func (c *Topics) Log(ctx context.Context, log *slog.Logger) {
	log = log.With(slog.String("group", c.Group)) // each group is a cause of its own
	reads, former := slog.Any("reads", AllTopics(c.Now)), slog.Any("former", AllTopics(c.Then))
	if c.Passed == 0 {
		log.LogAttrs(ctx, slog.LevelInfo, "the group reads other topics from now on", reads, former)
		return
	}
	log.LogAttrs(ctx, slog.LevelWarn, "the group reads other topics from now on; what it has passed of them is only sent by leat replay",
		reads, former, slog.Int64("passed", c.Passed))
}

// LogStandby logs at a start that the relays which lead the group read other topics.
func (c *Topics) LogStandby(ctx context.Context, log *slog.Logger) {
	log.With(slog.String("group", c.Group)).LogAttrs(ctx, slog.LevelWarn, "the relays that lead the group read other topics, which count until they stop",
		slog.Any("reads", AllTopics(c.Now)), slog.Any("former", AllTopics(c.Then)))
}
