package outboxtest

import (
	"context"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// Subject is an outbox under test: empty at the start of a check, with the default configuration,
// and used only by that check. Its methods are safe for concurrent use.
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
	// HoldForeign opens such a transaction. The returned function ends it.
	HoldForeign(ctx context.Context) (release func(), err error)
}

// ReadBlocker is implemented by a Subject that can make reads of held records wait, such
// as by a lock on their table.
type ReadBlocker interface {
	// BlockHeld makes Due, HeldKeys and CountHeld wait until release is called. The returned
	// function waits returns once one of them is waiting.
	BlockHeld(ctx context.Context) (waits func(ctx context.Context) error, release func(), err error)
}

// Grouper is implemented by a Subject whose relay groups can be configured.
type Grouper interface {
	// Group returns a source of the group. It returns an error if the outbox does not support
	// cfg. Sources of one group need not be equivalent: a later one may have other topics, or
	// another number of slots.
	Group(cfg GroupConfig) (driver.Source, error)
}

// GroupConfig is the configuration of a group. All fields except Name are optional.
type GroupConfig struct {
	// Name is the group's name.
	Name string
	// Slots is the number of slots. 0 is 1.
	Slots int
	// Start is where a new group begins. The zero value is the oldest record.
	Start driver.Start
	// Topics are patterns of the topics to read, in which * stands for any run of
	// characters. None is all topics.
	Topics []string
	// Positions is set if a sink stores the positions of the group (driver.Positioned).
	Positions bool
}

// Delayer is implemented by a Subject whose messages can be delayed (Message.NotBefore).
type Delayer interface {
	// Now is the clock that decides delays.
	Now(ctx context.Context) (time.Time, error)

	// Promote makes due messages readable, as the outbox's background process does. After an
	// error, including that of ctx, it may have done so in part.
	Promote(ctx context.Context) error
}

// Replayer is implemented by a Subject that has a driver.History.
type Replayer interface {
	// History returns the records that s selects.
	History(s Selection) (driver.History, error)
}

// Selection selects records for a replay. The zero value is all that is retained.
type Selection struct {
	// FromSeq and ToSeq bound outbox.Record.Seq, both included. 0 means unbounded.
	FromSeq, ToSeq int64
	// Topics are patterns, in which * stands for any run of characters. None is all.
	Topics []string
}

// HistoryDropper is implemented by a Replayer that can drop history during a replay.
type HistoryDropper interface {
	// DropHistory drops all records up to seq, which every group has settled, as retention does.
	DropHistory(ctx context.Context, seq int64) error
}

// Retainer is implemented by a Subject that deletes what all its groups have settled.
type Retainer interface {
	// Retain deletes what retention may delete at this moment, however recent it is.
	Retain(ctx context.Context) error
}

// Mortal is implemented by a Subject whose sessions can die like those of a killed process.
type Mortal interface {
	// Die ends the sign of life that s gives to others, without a release and without storing
	// anything. It may end other sessions of the Subject, too.
	Die(ctx context.Context, s driver.Session) error
}

// Neighbor is implemented by a Subject of which there can be several.
type Neighbor interface {
	// Another returns another outbox of the same kind, also empty, with its own positions.
	Another(ctx context.Context) (Subject, error)
}

// PositionLoser is implemented by a Subject that can lose commits, as a database does after a
// failover to a server that did not have the last ones.
type PositionLoser interface {
	// LosePositions makes the outbox forget what its groups have read and settled since
	// they began. The records stay.
	LosePositions(ctx context.Context) error
}

// CounterSetter is implemented by a Subject whose database numbers its records by a counter
// that an operator can set. A source must refuse to go on (driver.ErrSourceUnusable) or read
// everything, whatever it is set to.
type CounterSetter interface {
	// SetCounter makes last the last assigned number, like scripts that reset counters after a
	// restore. A database may take a higher one that is in the log.
	SetCounter(ctx context.Context, last int64) error
}

// ClockSetter is implemented by a Subject with a settable clock for leases and retries.
type ClockSetter interface {
	// SetClockBack sets the clock back. It may instead postpone every stored time by as much,
	// which is equivalent.
	SetClockBack(ctx context.Context, by time.Duration) error
}

// Mover is implemented by a Subject whose database can become a different one from the one that
// its positions belong to.
type Mover interface {
	// Ground returns the subject's store in the table of package internal/basis and, by the name
	// of each fact there, a function that changes it, like an operator's mistake.
	Ground() (store string, moves map[string]func(ctx context.Context) error)
}
