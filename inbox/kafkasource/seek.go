package kafkasource

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/leat-go/leat/inbox/driver"
)

// assign is the client's callback between the fetch of the group's offsets and
// the first fetch of records. It replaces each offset by an exact one, so that
// the assignments know where reading begins, and opens them.
func (m *member) assign(
	ctx context.Context, offsets map[string]map[int32]kgo.Offset,
) (map[string]map[int32]kgo.Offset, error) {
	<-m.ready
	own := offsets[m.topic]
	if len(own) == 0 {
		return offsets, nil
	}
	begins, err := m.begins(ctx, own)
	if err != nil {
		m.cfg.Logger.LogAttrs(ctx, slog.LevelError, "cannot tell where to begin, joining again",
			slog.String("consumer_group", m.group), slog.String("topic", m.topic), slog.Any("error", m.needs(err)))
		return nil, err
	}
	for partition, b := range begins {
		own[partition] = kgo.NewOffset().At(b.position.Offset).WithEpoch(b.epoch)
		m.open(ctx, b)
	}
	return offsets, nil
}

// begin is the place where reading of a partition begins.
type begin struct {
	position driver.Position
	epoch    int32 // of the record before, −1 if unknown
	deleted  int64
	mark     noted
	wentBack int64
}

// begins returns where reading begins: at the offset that Seek returns, if it is set; otherwise
// at the group's offset or, without one, as StartNewest decides. It is never below the oldest
// record of the partition.
func (m *member) begins(ctx context.Context, committed map[int32]kgo.Offset) (map[int32]*begin, error) {
	source, err := m.topicID(ctx)
	if err != nil {
		return nil, err
	}
	admin := kadm.NewClient(m.client)
	oldest, err := admin.ListStartOffsets(ctx, m.topic)
	if err = errors.Join(err, oldest.Error()); err != nil {
		return nil, fmt.Errorf("oldest offsets: %w", err)
	}
	newest := oldest
	if m.cfg.StartNewest || m.cfg.Seek != nil {
		newest, err = admin.ListEndOffsets(ctx, m.topic)
		if err = errors.Join(err, newest.Error()); err != nil {
			return nil, fmt.Errorf("newest offsets: %w", err)
		}
	}
	signed, err := m.signatures(ctx, admin)
	if err != nil {
		return nil, err
	}
	begins := make(map[int32]*begin, len(committed))
	leftOut := int64(0)
	for partition, offset := range committed {
		at := offset.EpochOffset()
		b := &begin{epoch: at.Epoch}
		s, ours := signed[partition]
		if at.Offset >= 0 && ours && m.ofAnotherTopic(ctx, s, source, partition, at.Offset) {
			delete(signed, partition)
			start, _ := oldest.Lookup(m.topic, partition)
			at.Offset, b.epoch = start.Offset, -1
		} else if at.Offset < 0 {
			start, _ := oldest.Lookup(m.topic, partition)
			if m.cfg.StartNewest {
				first := start.Offset
				start, _ = newest.Lookup(m.topic, partition)
				leftOut += start.Offset - first
			}
			at.Offset, b.epoch = start.Offset, -1
		}
		b.position = driver.Position{
			Source: source, Topic: m.topic, Partition: partition, Offset: at.Offset, Serial: m.serial,
		}
		begins[partition] = b
	}
	if leftOut > 0 && !m.cfg.NoGroup && m.cfg.Seek == nil {
		m.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "the group has no offset and begins at the newest message (StartNewest), earlier ones are left out",
			slog.String("consumer_group", m.group), slog.String("topic", m.topic), slog.Int64("messages", leftOut))
	}
	if err := errors.Join(m.seek(ctx, begins, oldest, newest), m.compare(ctx, begins, source, signed)); err != nil {
		return nil, err
	}
	for partition, b := range begins {
		if start, ok := oldest.Lookup(m.topic, partition); ok && b.position.Offset < start.Offset {
			b.deleted = start.Offset - b.position.Offset
			b.position.Offset, b.epoch = start.Offset, -1
		}
		b.position.Prev = b.position.Offset - 1
		if b.mark.since < 0 {
			b.mark.since = b.position.Offset
		}
	}
	return begins, nil
}

// seek asks Config.Seek.
func (m *member) seek(ctx context.Context, begins map[int32]*begin, oldest, newest kadm.ListedOffsets) error {
	if m.cfg.Seek == nil {
		return nil
	}
	parts := make([]driver.Assignment, 0, len(begins))
	for partition, b := range begins {
		start, known := oldest.Lookup(m.topic, partition)
		end, known2 := newest.Lookup(m.topic, partition)
		if !known || !known2 {
			return fmt.Errorf("seek: partition %d of topic %.200q has no bounds", partition, m.topic)
		}
		parts = append(parts, driver.Assignment{
			Source: b.position.Source, Topic: m.topic, Partition: partition,
			Start: start.Offset, End: end.Offset, From: b.position.Offset,
		})
	}
	offsets, err := m.cfg.Seek(ctx, parts)
	if err != nil {
		return fmt.Errorf("seek: %w", err)
	}
	if len(offsets) != len(parts) {
		return fmt.Errorf("seek: %d offsets for %d partitions", len(offsets), len(parts))
	}
	for i, offset := range offsets {
		if offset < 0 {
			return fmt.Errorf("seek: partition %d to offset %d, which is negative", parts[i].Partition, offset)
		}
		if b := begins[parts[i].Partition]; offset != b.position.Offset {
			b.position.Offset, b.epoch = offset, -1
		}
	}
	return nil
}

// topicID returns the topic's id as a canonical UUID, "" if the brokers know
// none.
func (m *member) topicID(ctx context.Context) (string, error) {
	id, _, err := m.describe(ctx)
	return id, err
}

// describe returns the topic's id, as topicID does, and its partitions.
func (m *member) describe(ctx context.Context) (source string, partitions []int32, err error) {
	req := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = new(m.topic)
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, m.client)
	if err != nil {
		return "", nil, fmt.Errorf("topic id: %w", err)
	}
	if len(resp.Topics) != 1 {
		return "", nil, fmt.Errorf("topic id: %w", kerr.UnknownTopicOrPartition)
	}
	if err := kerr.ErrorForCode(resp.Topics[0].ErrorCode); err != nil {
		return "", nil, fmt.Errorf("topic id: %w", err)
	}
	for _, p := range resp.Topics[0].Partitions {
		partitions = append(partitions, p.Partition)
	}
	id := uuid.UUID(resp.Topics[0].TopicID)
	if id == uuid.Nil {
		return "", partitions, nil
	}
	return id.String(), partitions, nil
}

// open begins an assignment. It replaces one from which nothing was read yet.
func (m *member) open(ctx context.Context, b *begin) {
	parent := m.parent
	if m.cfg.Marks != nil {
		parent = driver.WithMarks(parent, m.cfg.Marks, b.mark.history)
	}
	a := newAssignment(parent, b.position, &m.cfg, m, m.reread) //nolint:contextcheck // ctx ends with the assigning
	a.mark, a.doubts = b.mark, m.doubts
	m.mu.Lock()
	earlier := m.assignments[b.position.Partition]
	closed := m.closed
	if !closed {
		m.assignments[b.position.Partition] = a
	}
	m.mu.Unlock()
	if earlier != nil && !closed {
		earlier.cancel(ErrRevoked)
		<-earlier.ended
	}
	if closed {
		a.cancel(errClosed)
		return
	}
	if b.deleted > 0 {
		m.cfg.Logger.LogAttrs(ctx, slog.LevelError, "messages were deleted before they were read",
			slog.String("consumer_group", m.group), slog.String("topic", m.topic),
			slog.Int("partition", int(b.position.Partition)), slog.Int64("deleted_offsets", b.deleted))
	}
	m.partitionChanged(ctx, driver.SourceEvent{
		Partition: b.position.Partition, Kind: Assigned, Offset: b.position.Offset, Deleted: b.deleted, WentBack: b.wentBack,
	})
	go func() {
		defer close(a.ended)
		m.serve(a)
	}()
}
