package sqllog

import (
	"context"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/sqlstore"
)

const (
	// topicsPage is the number of rows that one statement reads.
	topicsPage = 10_000
	// topicsPassed is how many of the newest rows that a position has passed are read.
	topicsPassed = 100_000
)

// changeTopics compares the topics with which a group was last read with those of r. It returns
// the change, nil if there is none, and refuses one that leaves messages behind.
func (l *Log) changeTopics(ctx context.Context, r Reader, g *GroupRow) (*basis.Topics, error) {
	if !g.Read || basis.SameTopics(g.Topics, r.Topics) {
		return nil, nil //nolint:nilnil // there is no change
	}
	c := &basis.Topics{Group: r.Group, Then: g.Topics, Now: r.Topics}
	err := l.Look(ctx, func(q sqlstore.Querier) error { return l.CountTopics(ctx, q, g.At, c) })
	if err == nil {
		err = c.Err()
	}
	return c, err
}

// CountTopics counts the messages that a change leaves behind at a position, and those that the
// position has passed.
func (l *Log) CountTopics(ctx context.Context, q sqlstore.Querier, at Position, c *basis.Topics) error {
	err := l.Unsettled(ctx, q, at, func(topic string) {
		if c.Leaves(topic) {
			c.Left++
		}
	})
	if err != nil {
		return err
	}
	_, err = l.eachTopic(ctx, q, topicsPassed, func(topic string) {
		if c.Passes(topic) {
			c.Passed++
		}
	}, "seq BETWEEN ? AND ?", at.Last-topicsPassed+1, at.Last)
	return err
}

// Unsettled calls each with the topic of every message that a position has not settled.
func (l *Log) Unsettled(ctx context.Context, q sqlstore.Querier, at Position, each func(topic string)) error {
	for gaps := at.Gaps; len(gaps) > 0; {
		part := gaps[:min(len(gaps), MaxSpans)]
		gaps = gaps[len(part):]
		where, args := Within(part)
		if _, err := l.eachTopic(ctx, q, topicsPassed, each, where, args...); err != nil {
			return err
		}
	}
	for after := at.Last; ; {
		end, err := l.eachTopic(ctx, q, topicsPage, each, "seq > ?", after)
		if err != nil || end == 0 {
			return err
		}
		after = end
	}
}

// eachTopic calls each with the topics of at most limit messages, and returns the number of the
// last row, 0 if there is none.
func (l *Log) eachTopic(
	ctx context.Context, q sqlstore.Querier, limit int, each func(topic string), where string, args ...any,
) (end int64, err error) {
	err = sqlstore.Each(ctx, q, func(scan sqlstore.Scanner) error {
		var shard Shard
		var topic []byte
		if err := scan(&end, &shard, &topic); err != nil {
			return err
		}
		if shard.IsMessage() {
			each(string(topic))
		}
		return nil
	}, l.SQL.With("topics", where), append(args, limit)...)
	return end, err
}
