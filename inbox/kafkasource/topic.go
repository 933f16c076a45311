package kafkasource

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A topic that is deleted and created again begins at offset 0, under another id.
// The client neither reads it nor always says so, and a commit that arrives after
// the deletion leaves an offset of the old topic with the group, behind which the
// new one's first messages would be skipped. So we look at the id, and each commit
// carries that of its topic.

// committedTopic begins the metadata of our commits.
const committedTopic = "leat topic-id="

// watchTopic gives the session up when the topic was created again. While there is
// nothing to read it tells why.
func (m *member) watchTopic(ctx context.Context) {
	for told := ""; ; {
		pause(ctx, m.cfg.heartbeatInterval(), m.gaveUp)
		if !m.remains(ctx) {
			return
		}
		parts := m.parts()
		if len(parts) == 0 {
			told = m.explainWait(ctx, told)
			continue
		}
		// A cluster that does not answer is the business of pulse, and a topic that
		// is not there may come back.
		id, err := m.topicID(ctx)
		if err == nil && id != "" && id != parts[0].begin.Source {
			m.giveUp(errTopicReplaced)
		}
	}
}

// signature is the metadata of a commit for the topic with the id source.
func signature(source string) string { return committedTopic + source }

// topicOf returns the topic's id in the metadata of a commit, if the commit is ours.
func topicOf(metadata string) (id string, ours bool) {
	return strings.CutPrefix(metadata, committedTopic)
}

// signed returns a context for commits that say which topic they are of.
func (m *member) signed(ctx context.Context, source string) context.Context {
	if source == "" {
		return ctx
	}
	text := signature(source)
	return kgo.PreCommitFnContext(ctx, func(req *kmsg.OffsetCommitRequest) error {
		for i := range req.Topics {
			for j := range req.Topics[i].Partitions {
				req.Topics[i].Partitions[j].Metadata = &text
			}
		}
		return nil
	})
}

// ofAnotherTopic returns the partitions whose committed offset is of a topic of the
// same name that is gone. An offset that others have committed is taken for this
// topic's.
func (m *member) ofAnotherTopic(ctx context.Context, admin *kadm.Client, source string) (map[int32]bool, error) {
	if source == "" || m.cfg.NoGroup {
		return nil, nil
	}
	committed, err := admin.FetchOffsetsForTopics(ctx, m.group, m.topic)
	if err != nil {
		return nil, fmt.Errorf("committed offsets: %w", err)
	}
	foreign := make(map[int32]bool)
	committed.Each(func(o kadm.OffsetResponse) {
		id, ours := topicOf(o.Metadata)
		if o.Topic != m.topic || o.At < 0 || !ours || id == source {
			return
		}
		foreign[o.Partition] = true
		m.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "the group's offset is of a topic that was deleted, beginning at the start",
			slog.String("consumer_group", m.group), slog.String("topic", m.topic), slog.Int("partition", int(o.Partition)),
			slog.Int64("offset", o.At), slog.String("offset_topic_id", id), slog.String("topic_id", source))
	})
	return foreign, nil
}
