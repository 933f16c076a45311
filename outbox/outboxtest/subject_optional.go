package outboxtest

import (
	"context"
	"time"

	"github.com/leat-go/leat/outbox/driver"
)

// Grouper is implemented by a Subject whose relay groups can be told how to read.
type Grouper interface {
	// Group returns a source of the group. It returns an error if the outbox cannot do
	// what cfg asks for. Sources of one group need not be equivalent: a later one may ask
	// for other topics, or another number of slots.
	Group(cfg GroupConfig) (driver.Source, error)
}

// GroupConfig is how a group reads. All but Name is optional.
type GroupConfig struct {
	// Name is the group's.
	Name string
	// Slots is the number of slots. 0 is 1.
	Slots int
	// Start is where a new group begins.
	Start Start
	// Topics are patterns of the topics to read, in which * stands for any run of
	// characters. None is all topics.
	Topics []string
	// Positions is set if a sink keeps the positions of the group (driver.Positioned).
	Positions bool
}

// Start is where a new group begins to read. The zero value is the oldest record.
type Start struct {
	// Now begins with what is committed after the group's first session has begun.
	Now bool
	// Time, unless it is zero, begins at the first record that was enqueued at that time
	// or later by the outbox's clock.
	Time time.Time
}

// Delayer is implemented by a Subject whose messages can be delayed (Message.NotBefore).
type Delayer interface {
	// Now is the clock that delays go by.
	Now(ctx context.Context) (time.Time, error)

	// Promote makes readable what is due, as the outbox's process in the background does.
	// After an error, also that of ctx, it may have done so in part.
	Promote(ctx context.Context) error
}

// Replayer is implemented by a Subject that has a driver.History.
type Replayer interface {
	// History selects what is replayed.
	History(s Selection) (driver.History, error)
}

// Selection selects records for a replay. The zero value is all that is retained.
type Selection struct {
	// FromSeq and ToSeq bound outbox.Record.Seq, both included. 0 is no bound.
	FromSeq, ToSeq int64
	// Topics are patterns, in which * stands for any run of characters. None is all.
	Topics []string
}

// HistoryDropper is implemented by a Replayer that can drop history under a replay.
type HistoryDropper interface {
	// DropHistory drops all records up to seq, which every group has settled, as retention does.
	DropHistory(ctx context.Context, seq int64) error
}

// Retainer is implemented by a Subject that deletes what all its groups have settled.
type Retainer interface {
	// Retain deletes what retention may delete at this moment, however young it is.
	Retain(ctx context.Context) error
}

// Neighbor is implemented by a Subject that can be one of several.
type Neighbor interface {
	// Another returns another outbox of the kind, empty as well, whose positions are not
	// those of this one.
	Another(ctx context.Context) (Subject, error)
}

// PositionLoser is implemented by a Subject that can go back, as a database does after a
// failover to a server which did not have the last commits.
type PositionLoser interface {
	// LosePositions makes the outbox forget what its groups have read and settled since
	// they began. The records stay.
	LosePositions(ctx context.Context) error
}
