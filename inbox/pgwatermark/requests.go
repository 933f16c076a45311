package pgwatermark

import (
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
)

// AcceptRequest asks to take a topic for the log that it is now.
type AcceptRequest struct {
	admin.By

	// Topic is the topic's name, Source what it is known by from now on: that of
	// driver.SourceChangedError.Found.
	Topic, Source string
}

// TopicPartition names a partition of a consumer's log.
type TopicPartition struct {
	// Topic is the topic's name.
	Topic string
	// Source is the topic's id.
	Source string
	// Partition is its number, from 0.
	Partition int32
}

// SetRequest asks to go on at another offset.
type SetRequest struct {
	admin.By
	TopicPartition

	// Next is the offset of the message to process next. Messages between the old
	// value and a higher one are never processed, those between a lower one and the
	// old value are processed again.
	Next int64
}

// RemoveRequest asks to forget a partition.
type RemoveRequest struct {
	admin.By
	TopicPartition
}

// requestRead is request for a topic that the consumer reads.
func (in *Inbox) requestRead(by admin.By, p TopicPartition) (pgtype.UUID, error) {
	if !in.topics[p.Topic] {
		return pgtype.UUID{}, fmt.Errorf("%w: %w: topic %.200q", admin.ErrInvalidRequest, driver.ErrWrongTopic, p.Topic)
	}
	return request(by, p)
}

// request checks what a request names.
func request(by admin.By, p TopicPartition) (pgtype.UUID, error) {
	if err := by.Check(); err != nil {
		return pgtype.UUID{}, err
	}
	source, err := storedSource(p.Topic, p.Source, p.Partition)
	if err != nil {
		return source, fmt.Errorf("%w: %w", admin.ErrInvalidRequest, err)
	}
	return source, nil
}

func (p TopicPartition) attrs() []slog.Attr {
	return []slog.Attr{
		slog.String("topic", p.Topic), slog.String("source", p.Source), slog.Int("partition", int(p.Partition)),
	}
}
