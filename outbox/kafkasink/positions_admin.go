package kafkasink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
)

// SlotPosition is the entry of a slot in the topic of positions.
type SlotPosition struct {
	// Slot is the group, a slash and the number of the slot, as in "default/0".
	Slot string
	// Position is how far the slot has delivered, in the format of its source; nil if it has
	// delivered nothing, or nothing since its position was removed.
	Position []byte
	// At is the time of the record, by the clock of the relay that has written it.
	At time.Time
	// RemovedBy is the actor that removed the previous position, and Reason is the reason; "" if
	// it was not removed.
	RemovedBy, Reason string
}

// RemoveRequest asks to remove the positions of a group.
type RemoveRequest struct {
	// Group is the relay group. Defaults to "default".
	Group string
	// Actor and Reason are stored in the topic. Required.
	Actor, Reason string
}

func (r RemoveRequest) withDefaults() RemoveRequest {
	r.Group = cmp.Or(r.Group, "default")
	return r
}

func (r RemoveRequest) validate() error {
	if strings.TrimSpace(r.Actor) == "" {
		return outbox.ConfigError("Actor", `""`, "must be who does it")
	}
	if strings.TrimSpace(r.Reason) == "" {
		return outbox.ConfigError("Reason", `""`, "must be why")
	}
	return nil
}

// Positions lists the newest committed position of every slot in PositionTopic, in the order of
// their numbers. It fences no relay and changes nothing. A topic that does not exist has none.
func (t *Transactional) Positions(ctx context.Context) ([]SlotPosition, error) {
	s, err := New(t.brokers, t.cfg.Config)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }() // it always returns nil
	partitions, err := t.partitions(ctx, s)
	if err != nil {
		return nil, err
	}
	var all []SlotPosition
	for _, partition := range partitions {
		l := &txLane{cfg: &t.cfg, partition: partition, sink: s}
		found, err := l.committed(ctx)
		if err != nil {
			return nil, fmt.Errorf("leat: partition %d of topic %q: %w", partition, t.cfg.PositionTopic, err)
		}
		if found == nil {
			continue
		}
		p := SlotPosition{Slot: found.slot, At: found.at, RemovedBy: found.actor, Reason: found.reason}
		if !found.initial {
			p.Position = found.position
		}
		all = append(all, p)
	}
	return all, nil
}

// partitions returns the partitions of the topic of positions, none if it does not exist.
func (t *Transactional) partitions(ctx context.Context, s *Sink) ([]int32, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	defer s.guard(ctx)()
	topics, err := kadm.NewClient(s.client).ListTopics(ctx, t.cfg.PositionTopic)
	if err != nil {
		return nil, s.conn.explain(fmt.Errorf("leat: look up topic %q: %w", t.cfg.PositionTopic, err))
	}
	topic := topics[t.cfg.PositionTopic]
	if errors.Is(topic.Err, kerr.UnknownTopicOrPartition) {
		return nil, nil
	}
	if topic.Err != nil {
		return nil, fmt.Errorf("leat: topic %q: %w", t.cfg.PositionTopic, needs(topic.Err, "READ", t.cfg.PositionTopic))
	}
	return slices.Sorted(slices.Values(topic.Partitions.Numbers())), nil
}

// committed returns the newest committed record of the partition, nil if there is none.
func (l *txLane) committed(ctx context.Context) (*storedPosition, error) {
	defer l.sink.guard(ctx)()
	admin := kadm.NewClient(l.sink.client)
	start, err := l.offset(ctx, admin.ListStartOffsets)
	if err != nil {
		return nil, err
	}
	end, err := l.offset(ctx, admin.ListCommittedOffsets)
	if err != nil {
		return nil, err
	}
	return l.last(ctx, offsets{start: start, end: end})
}

// RemovePositions resets every slot of a group to the state in which it has delivered nothing,
// and returns what was removed. Use it if relays refuse to start, with an error that wraps
// driver.ErrSourceUnusable, because the position in Kafka is missing or ahead of a database that
// moved back. It changes nothing in the database: see pgoutbox.Outbox.Rebase.
//
// Stop the group's relays first. Each slot is fenced: a relay that is still running ends its
// term, and then refuses to go on. A second call removes the rest. Errors: one that wraps
// outbox.ErrInvalidConfig if the request has no actor or no reason, or if the topic holds
// positions of another group; one that wraps driver.ErrSourceUnusable if another program has
// written to the topic; otherwise the cluster's.
func (t *Transactional) RemovePositions(ctx context.Context, r RemoveRequest) (removed []SlotPosition, err error) {
	r = r.withDefaults()
	if err := r.validate(); err != nil {
		return nil, err
	}
	before, err := t.Positions(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range before {
		if group, _, _ := cutLast(p.Slot, "/"); group != r.Group {
			return nil, outbox.ConfigError("Group", strconv.Quote(r.Group), fmt.Sprintf("topic %q holds the position of slot %q", t.cfg.PositionTopic, p.Slot))
		}
	}
	s, err := New(t.brokers, t.cfg.Config)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }() // it always returns nil
	partitions, err := t.partitions(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, partition := range partitions {
		slot := r.Group + "/" + strconv.Itoa(int(partition))
		p, err := t.remove(ctx, slot, r)
		if err != nil {
			return removed, fmt.Errorf("leat: remove the position of slot %q: %w", slot, err)
		}
		if p != nil {
			removed = append(removed, *p)
		}
	}
	return removed, nil
}

// remove removes the position of one slot, and returns it; nil if it has none.
func (t *Transactional) remove(ctx context.Context, slot string, r RemoveRequest) (*SlotPosition, error) {
	l, err := t.lane(slot)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.drop() // the next delivery fences anew
	found, err := l.forget(ctx, r)
	if err != nil || found == nil {
		return nil, err
	}
	return &SlotPosition{Slot: slot, Position: found.position, At: found.at}, nil
}

// forget fences the slot and commits that it has delivered nothing. It returns the previous
// position, nil if there was none. If the position was lost, it returns an empty one.
func (l *txLane) forget(ctx context.Context, r RemoveRequest) (*storedPosition, error) {
	l.drop()
	if err := l.sink.ready(ctx); err != nil {
		return nil, err
	}
	if err := l.ensureTopic(ctx); err != nil {
		return nil, l.sink.conn.explain(err)
	}
	if err := l.newProducer(ctx); err != nil {
		return nil, err
	}
	span, err := l.stable(ctx)
	if err != nil {
		return nil, err
	}
	found, err := l.last(ctx, span)
	if err != nil {
		return nil, err
	}
	if found != nil && found.initial || found == nil && span.start == 0 {
		l.stored = false
		return nil, nil
	}
	if err := l.transact(ctx, []kgo.Record{l.removedRecord(r.Actor, r.Reason)}); err != nil {
		return nil, err
	}
	l.stored = false
	if found == nil {
		found = &storedPosition{}
	}
	return found, nil
}
