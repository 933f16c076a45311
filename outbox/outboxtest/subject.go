package outboxtest

import (
	"context"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// Subject is an outbox under test: empty when a check gets it, with the default
// configuration, and used by that check alone. Its methods are safe for
// concurrent use.
type Subject interface {
	// Enqueuer is the outbox's own: EnqueueContext and Wake.
	outbox.Enqueuer

	// Begin starts a transaction. Ending ctx must not commit it.
	Begin(ctx context.Context) (Tx, error)

	// Source returns the source of a relay group. Sources of one group are
	// equivalent; a new group starts at the first record.
	Source(group string) driver.Source
}

// Tx is a transaction of a Subject. One goroutine uses it at a time.
type Tx interface {
	// Enqueue is the outbox's Enqueue in this transaction.
	Enqueue(ctx context.Context, msgs ...outbox.Message) error

	// Context returns ctx with the transaction in it, for EnqueueContext.
	Context(ctx context.Context) context.Context

	// Commit ends the transaction and makes its messages readable. It does not
	// wake the relays.
	Commit(ctx context.Context) error

	// Rollback ends the transaction. After Commit it may return any error and
	// changes nothing.
	Rollback(ctx context.Context) error
}

// ForeignHolder is implemented by a Subject that can hold a transaction open
// which has nothing to do with the outbox but shares its database: one that has
// written to another table, or in another database of the same server.
type ForeignHolder interface {
	// HoldForeign opens it. The returned function ends it.
	HoldForeign(ctx context.Context) (release func(), err error)
}

// ReadBlocker is implemented by a Subject that can make reads of held records wait, such
// as by a lock on their table.
type ReadBlocker interface {
	// BlockHeld makes Due, HeldKeys and CountHeld wait until release is called. The
	// function waits returns once one of them does.
	BlockHeld(ctx context.Context) (waits func(ctx context.Context) error, release func(), err error)
}

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
	// Start is where a new group begins. The zero value is the oldest record.
	Start driver.Start
	// Topics are patterns of the topics to read, in which * stands for any run of
	// characters. None is all topics.
	Topics []string
	// Positions is set if a sink keeps the positions of the group (driver.Positioned).
	Positions bool
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
	// FromSeq and ToSeq bound outbox.Record.Seq, both included. 0 means unbounded.
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

// Mortal is implemented by a Subject whose sessions can die as those of a process do that is killed.
type Mortal interface {
	// Die ends what tells others that s lives, without a word and without storing anything. It may
	// end other sessions of the Subject, too.
	Die(ctx context.Context, s driver.Session) error
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

// CounterSetter is implemented by a Subject whose database numbers its records by a counter
// that an operator can set. A source must refuse to go on (driver.ErrSourceUnusable) or read
// everything, whatever it is set to.
type CounterSetter interface {
	// SetCounter makes last the number that was given out last, as scripts do that reset
	// counters after a restore. A database may take a higher one that is in the log.
	SetCounter(ctx context.Context, last int64) error
}

// ClockSetter is implemented by a Subject whose leases and retries go by a clock that somebody can set.
type ClockSetter interface {
	// SetClockBack sets the clock back. It may instead put off by as much every time that is stored, which is the same.
	SetClockBack(ctx context.Context, by time.Duration) error
}

// Mover is implemented by a Subject that can move the ground under its positions: whose
// database can become another one than they belong to.
type Mover interface {
	// Ground returns which store it is in the table of package internal/basis, and by the name of
	// each fact there what changes it, as an operator's mistake would.
	Ground() (store string, moves map[string]func(ctx context.Context) error)
}
