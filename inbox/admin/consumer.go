package admin

import (
	"errors"
	"time"
)

// ConsumersQuery pages through the consumers.
type ConsumersQuery struct {
	// After is the name of the last consumer of the page before.
	// Defaults to the start.
	After string
	// Limit bounds the consumers that are returned, 1 to 10,000.
	// Defaults to 100.
	Limit int
}

func (q *ConsumersQuery) complete() error {
	limit, err := limitOr(q.Limit, 100)
	q.Limit = limit
	return errors.Join(err, storableTexts(field{"After", q.After}))
}

// Consumer is a consumer of a store.
type Consumer struct {
	// Name is what the store remembers it by. Lists are in the order of its bytes.
	Name string
	// Since is when its first message came, by the store's clock.
	Since time.Time
	// Remembered is the number of ids that are remembered, those of parked messages
	// included. Estimated is set if it is an estimate, as it is of many ids.
	Remembered int64
	Estimated  bool
	// Partitions is the number of partitions that have a remembered position.
	Partitions int64
	// Parked is the number of messages that wait for an operator, Redriving of those
	// that RunRedrive is to run, Waiting of those that wait behind them.
	Parked, Redriving, Waiting int64
	// Failing is the number of messages that have failed and are to be tried again.
	Failing int64
	// LastActivity is the latest time that is stored of anything the consumer did, by
	// the store's clock or by the times in ids of version 7; zero if there is none, as
	// with ids of other kinds that never fail.
	LastActivity time.Time
}

// Stats is figures of a whole store.
type Stats struct {
	// At is the store's clock.
	At time.Time
	// Consumers is the number of consumers.
	Consumers int64
	// Parked, Redriving, Waiting and Failing are those of all consumers.
	Parked, Redriving, Waiting, Failing int64
	// Estimated is set if one of these is not exact: there are more than a store counts, 10,000
	// of what is parked. They are then what was counted, so that there may be more, or as many of
	// all as of those that were looked at, where the database knows how many there are.
	Estimated bool
	// OldestParked is when the first of Parked was parked, of those that were looked at; zero
	// if there is none.
	OldestParked time.Time
	// Bytes is what the store takes, indexes included; 0 if it cannot tell.
	Bytes int64
}
