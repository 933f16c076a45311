package pgwatermark

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/ids"
)

// place is the stored form of a position.
type place struct {
	driver.Position

	source pgtype.UUID
	lock   int64
}

// place returns the position of a delivery, or an error if it cannot be used.
func (k keys) place(ctx context.Context) (place, error) {
	at, ok := driver.PositionFrom(ctx)
	if !ok {
		return place{}, fmt.Errorf("%w: its context carries none", driver.ErrNoPosition)
	}
	source, err := k.sourceOf(at.Topic, at.Source, at.Partition)
	switch {
	case err != nil:
		return place{}, err
	case at.Offset < 0 || at.Prev < -1 || at.Prev >= at.Offset:
		return place{}, fmt.Errorf("%w: offset %d after %d", driver.ErrNoPosition, at.Offset, at.Prev)
	case !at.Serial:
		return place{}, fmt.Errorf("%w: topic %.200q", driver.ErrNotSerial, at.Topic)
	}
	return place{Position: at, source: source, lock: k.lockOf(source, at.Partition)}, nil
}

// sourceOf checks the topic, source and number of a partition.
func (k keys) sourceOf(topic, source string, partition int32) (pgtype.UUID, error) {
	if !k.topics[topic] {
		return pgtype.UUID{}, fmt.Errorf("%w: topic %.200q", driver.ErrWrongTopic, topic)
	}
	return storedSource(topic, source, partition)
}

// storedSource is the stored form of a source. Brokers that have no ids for topics
// send zeros: the partitions of all their topics would be one.
func storedSource(topic, source string, partition int32) (pgtype.UUID, error) {
	stored, canonical := ids.Map(source)
	switch {
	case !canonical || stored == ids.UUID{}:
		return pgtype.UUID{}, fmt.Errorf("%w: source %.200q of topic %.200q is not a canonical UUID", driver.ErrNoPosition, source, topic)
	case partition < 0:
		return pgtype.UUID{}, fmt.Errorf("%w: partition %d of topic %.200q", driver.ErrNoPosition, partition, topic)
	}
	return pgtype.UUID{Bytes: stored, Valid: true}, nil
}

// verdict returns the status of a claim that found nothing to update. next is the remembered
// offset of the partition, and current the source of the topic; nil means none.
func (at place) verdict(next *int64, current *string) (driver.Status, error) {
	if next == nil && current != nil {
		if err := sameSource(at.Topic, *current, at.Source); err != nil {
			return 0, err
		}
	}
	switch {
	case next == nil:
		return 0, fmt.Errorf("%w: partition %d of topic %.200q", driver.ErrNotAssigned, at.Partition, at.Topic)
	case *next > at.Offset:
		return driver.Duplicate, nil
	case *next <= at.Prev:
		return 0, &driver.GapError{Position: at.Position, Next: *next}
	default:
		return driver.Busy, nil
	}
}
