package kafkasource

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A topic that is deleted and created again begins at offset 0, under another id. The client does
// not read it, and does not always report that. And a commit that arrives after the deletion
// leaves an offset of the old topic in the group, so that the first messages of the new topic
// would be skipped. So the session watches the topic's id, and each commit carries it.

// The metadata of leat's commits: the topic's id, and for a group with marks the offset at which
// its marks of the partition began.
const (
	committedTopic = "leat topic-id="
	committedSince = "marks-since="
)

// watchTopic gives the session up when the topic was created again. While the session has no
// partitions it logs the reason.
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
		// A cluster that does not answer is left to pulse, and a missing topic may come back.
		id, err := m.topicID(ctx)
		if err == nil && id != "" && id != parts[0].begin.Source {
			m.giveUp(errTopicReplaced)
		}
	}
}

// signature is the parsed metadata of one of leat's commits.
type signature struct {
	topic string // its id, "" if the brokers have none
	since int64  // -1 if the commit was made without marks
}

func (s signature) String() string {
	if s.since < 0 {
		return committedTopic + s.topic
	}
	return committedTopic + s.topic + " " + committedSince + strconv.FormatInt(s.since, 10)
}

// signatureOf parses the metadata of a commit. ours is set if leat made the commit.
func signatureOf(metadata string) (s signature, ours bool) {
	rest, _ := strings.CutPrefix(metadata, committedTopic)
	topic, since, marked := strings.Cut(rest, " "+committedSince)
	s = signature{topic, -1}
	if at, err := strconv.ParseInt(since, 10, 64); marked && err == nil {
		s.since = at
	}
	return s, s.String() == metadata
}

// signed returns a context in which commits of parts carry their signatures.
func (m *member) signed(ctx context.Context, parts []*assignment) context.Context {
	texts := make(map[int32]string, len(parts))
	for _, a := range parts {
		s := signature{a.begin.Source, -1}
		if m.cfg.Marks != nil {
			s.since = a.mark.since
		}
		if s.topic != "" || s.since >= 0 {
			texts[a.begin.Partition] = s.String()
		}
	}
	return kgo.PreCommitFnContext(ctx, func(req *kmsg.OffsetCommitRequest) error {
		for i := range req.Topics {
			for j := range req.Topics[i].Partitions {
				p := &req.Topics[i].Partitions[j]
				if text, ok := texts[p.Partition]; ok {
					p.Metadata = &text
				}
			}
		}
		return nil
	})
}

// signatures returns the signatures of the group's commits, for the partitions that leat has
// committed.
func (m *member) signatures(ctx context.Context, admin *kadm.Client) (map[int32]signature, error) {
	if m.cfg.NoGroup {
		return nil, nil
	}
	committed, err := admin.FetchOffsetsForTopics(ctx, m.group, m.topic)
	if err != nil {
		return nil, fmt.Errorf("committed offsets: %w", err)
	}
	signed := make(map[int32]signature)
	committed.Each(func(o kadm.OffsetResponse) {
		if s, ours := signatureOf(o.Metadata); ours && o.Topic == m.topic && o.At >= 0 {
			signed[o.Partition] = s
		}
	})
	return signed, nil
}

// ofAnotherTopic reports whether a committed offset belongs to a deleted topic of the same name.
// An offset without a signature counts as one of this topic.
func (m *member) ofAnotherTopic(ctx context.Context, s signature, source string, partition int32, offset int64) bool {
	if source == "" || s.topic == "" || s.topic == source {
		return false
	}
	m.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "the group's offset is of a topic that was deleted, beginning at the start",
		slog.String("consumer_group", m.group), slog.String("topic", m.topic), slog.Int("partition", int(partition)),
		slog.Int64("offset", offset), slog.String("offset_topic_id", s.topic), slog.String("topic_id", source))
	return true
}
