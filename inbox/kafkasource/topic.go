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

// A topic that is deleted and created again begins at offset 0, under another id.
// The client neither reads it nor always says so, and a commit that arrives after
// the deletion leaves an offset of the old topic with the group, behind which the
// new one's first messages would be skipped. So we look at the id, and each commit
// carries that of its topic.

// The metadata of our commits: the topic's id, and for a group with marks the offset at which
// its marks of the partition began.
const (
	committedTopic = "leat topic-id="
	committedSince = "marks-since="
)

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

// signature is what the metadata of a commit of ours says.
type signature struct {
	topic string // its id, "" if the brokers tell none
	since int64  // -1 without marks
}

func (s signature) String() string {
	if s.since < 0 {
		return committedTopic + s.topic
	}
	return committedTopic + s.topic + " " + committedSince + strconv.FormatInt(s.since, 10)
}

// signatureOf returns what the metadata of a commit says, if the commit is ours.
func signatureOf(metadata string) (s signature, ours bool) {
	rest, _ := strings.CutPrefix(metadata, committedTopic)
	topic, since, marked := strings.Cut(rest, " "+committedSince)
	s = signature{topic, -1}
	if at, err := strconv.ParseInt(since, 10, 64); marked && err == nil {
		s.since = at
	}
	return s, s.String() == metadata
}

// signed returns a context for commits of parts that say which topic they are of.
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

// signatures returns what the group's commits say, of the partitions whose commits are ours.
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

// ofAnotherTopic reports whether a committed offset is of a topic of the same name that is
// gone. An offset that others have committed is taken for this topic's.
func (m *member) ofAnotherTopic(ctx context.Context, s signature, source string, partition int32, offset int64) bool {
	if source == "" || s.topic == "" || s.topic == source {
		return false
	}
	m.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "the group's offset is of a topic that was deleted, beginning at the start",
		slog.String("consumer_group", m.group), slog.String("topic", m.topic), slog.Int("partition", int(partition)),
		slog.Int64("offset", offset), slog.String("offset_topic_id", s.topic), slog.String("topic_id", source))
	return true
}
