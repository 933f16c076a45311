package kafkasink

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox/driver"
)

// Headers of a record in the topic of positions. Its key is the slot's name, its value the
// position in the source's format, never null: in a compacted topic that would be a deletion.
const (
	headerPositionFormat = "leat_format"
	headerPositionState  = "leat_state"
	headerPositionActor  = "leat_actor" // the actor that has removed a position, and why
	headerPositionReason = "leat_reason"

	positionFormat  = "1"
	positionInitial = "initial" // the slot has started and has delivered nothing
	positionStored  = "stored"
)

// storedPosition is the state of a slot in the topic.
type storedPosition struct {
	initial       bool
	position      []byte
	slot          string
	at            time.Time
	actor, reason string
}

func (l *txLane) positionRecord(position []byte) kgo.Record {
	return l.stateRecord(positionStored, position)
}

func (l *txLane) initialRecord() kgo.Record {
	return l.stateRecord(positionInitial, nil)
}

// removedRecord resets the slot to the state in which it has delivered nothing.
func (l *txLane) removedRecord(actor, reason string) kgo.Record {
	r := l.initialRecord()
	r.Headers = append(r.Headers,
		kgo.RecordHeader{Key: headerPositionActor, Value: []byte(actor)},
		kgo.RecordHeader{Key: headerPositionReason, Value: []byte(reason)})
	return r
}

func (l *txLane) stateRecord(state string, position []byte) kgo.Record {
	return kgo.Record{
		Topic: l.cfg.PositionTopic,
		Key:   []byte(l.slot),
		Value: append([]byte{}, position...),
		Headers: []kgo.RecordHeader{
			{Key: headerPositionFormat, Value: []byte(positionFormat)},
			{Key: headerPositionState, Value: []byte(state)},
		},
	}
}

// readPosition reads a record of the slot's partition. A record that is not the slot's own is an
// error.
func (l *txLane) readPosition(r *kgo.Record) (*storedPosition, error) {
	if !l.owns(r) || !r.Attrs.IsTransactional() || r.Value == nil {
		return nil, fmt.Errorf("%w: partition %d of topic %q is not slot %q's alone: record %d has key %.100q",
			driver.ErrSourceUnusable, r.Partition, r.Topic, l.slot, r.Offset, r.Key)
	}
	headers := make(map[string]string, len(r.Headers))
	for _, h := range r.Headers {
		headers[h.Key] = string(h.Value)
	}
	if f := headers[headerPositionFormat]; f != positionFormat {
		return nil, fmt.Errorf("%w: record %d of topic %q has format %.100q, this version reads %q",
			driver.ErrSourceUnusable, r.Offset, r.Topic, f, positionFormat)
	}
	state := headers[headerPositionState]
	if state != positionInitial && state != positionStored {
		return nil, fmt.Errorf("%w: record %d of topic %q has state %.100q, want %q or %q",
			driver.ErrSourceUnusable, r.Offset, r.Topic, state, positionInitial, positionStored)
	}
	return &storedPosition{
		initial: state == positionInitial, position: r.Value, slot: string(r.Key), at: r.Timestamp,
		actor: headers[headerPositionActor], reason: headers[headerPositionReason],
	}, nil
}

// owns reports whether r belongs to the slot. A read-only lane (slot "") owns every slot that is
// stored in its partition.
func (l *txLane) owns(r *kgo.Record) bool {
	if l.slot != "" {
		return string(r.Key) == l.slot
	}
	n, err := slotNumber(string(r.Key))
	return err == nil && n == l.partition
}

// slotNumber is the partition of a slot: the number at the end of its name.
func slotNumber(slot string) (int32, error) {
	_, digits, ok := cutLast(slot, "/")
	n, err := strconv.ParseInt(digits, 10, 32)
	if !ok || err != nil || n < 0 || n >= maxSlots || strconv.FormatInt(n, 10) != digits {
		return 0, fmt.Errorf("%w: slot %.200q does not end in a slash and a number below %d", driver.ErrSourceUnusable, slot, maxSlots)
	}
	return int32(n), nil
}

// maxSlots bounds the partitions that a wrong name can ask for.
const maxSlots = 1024

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
