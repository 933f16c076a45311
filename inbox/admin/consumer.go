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
	// Name is its name in the store. Lists are in the order of its bytes.
	Name string
	// Since is when its first message arrived, by the store's clock.
	Since time.Time
	// Remembered is the number of remembered ids, including those of parked messages. Estimated
	// is set if it is an estimate, as it is for large numbers.
	Remembered int64
	Estimated  bool
	// Partitions is the number of partitions that have a remembered position.
	Partitions int64
	// Parked is the number of messages that wait for an operator, Redriving of those that
	// RunRedrive will run, and Waiting of those that wait behind them.
	Parked, Redriving, Waiting int64
	// Failing is the number of messages that have failed and will be tried again.
	Failing int64
	// LastActivity is the latest stored time of anything the consumer did, by the store's clock
	// or by the times in ids of version 7. It is zero if no time is stored, as for messages with
	// other kinds of ids that never fail.
	LastActivity time.Time
}

// Stats holds figures of a whole store.
type Stats struct {
	// At is the store's clock.
	At time.Time
	// Consumers is the number of consumers.
	Consumers int64
	// Parked, Redriving, Waiting and Failing are the sums over all consumers.
	Parked, Redriving, Waiting, Failing int64
	// Estimated is set if one of these is not exact, because there are more than a store counts:
	// 10,000 parked messages. The number then is a lower bound, or, if the database knows the
	// total, is extrapolated from the messages that were counted.
	Estimated bool
	// OldestParked is when the first of Parked was parked, among those that were counted; zero if
	// there is none.
	OldestParked time.Time
	// Bytes is the size of the store, including indexes; 0 if unknown.
	Bytes int64
}
