package admin

import (
	"time"

	"github.com/leat-go/leat/outbox/driver"
)

// Stats is the state of an outbox and of the relay groups that read it.
type Stats struct {
	// LastSeq is the last Seq that was assigned, 0 if there is none.
	LastSeq int64
	// Bytes is the size of the log with its indexes, Rows the number of its rows. Rows is the
	// database's estimate, which is 0 until it has analysed the tables for the first time.
	Bytes, Rows int64
	// Ranges is the number of ranges of the log, 0 if it has none; RangesAhead is the number of
	// those that are ready: empty, above LastSeq, and with an end.
	Ranges, RangesAhead int
	// Delayed is the number of messages that are not due yet. DelayedEstimated is set if it is
	// not exact: there are 10,000 or more, and it is either that count or the database's
	// estimate.
	Delayed          int
	DelayedEstimated bool
	// Maintainer is the process that runs the maintenance of the log, "" if none does now or the
	// store needs none.
	Maintainer string
	// Groups are the relay groups, by name.
	Groups []GroupStats
}

// GroupStats is the state of a relay group.
type GroupStats struct {
	Name string
	// Held is the number of records that are held: Retrying of them are tried again, Parked wait
	// for an operator, and the others wait behind a record of their key. Dead is the number of
	// records that were given up.
	Held, Retrying, Parked, Dead int
	// Estimated is set if these are not exact: there are more than 10,000 of some kind. Each kind
	// is counted up to that number, so the true number may be higher. Beyond it, Held and Dead
	// are the database's estimates if it has any.
	Estimated bool
	// OldestRetried is the age, since it was enqueued, of the oldest counted message that is
	// being tried again; 0 if there is none.
	OldestRetried time.Duration
	// OldestWaiting is the same for messages that wait behind one of their key, which is being
	// tried again or parked. The lag of a slot includes neither.
	OldestWaiting time.Duration
	// Out are the destinations that are out, as the leaders of the slots have stored them, by
	// topic. A relay that has just begun to lead has none.
	Out []driver.Outage
	// Slots are the group's slots. Empty until a relay has begun.
	Slots []SlotStats
}

// SlotStats is the state of one slot of a relay group.
type SlotStats struct {
	Slot int
	// Owner is the relay that leads, or led last; empty if it has released its lease.
	Owner string
	// Epoch is the epoch of the lease.
	Epoch int64
	// LeaseLeft is how long the lease still runs; 0 if no relay holds it.
	LeaseLeft time.Duration
	// Window is the number of the newest window, WindowAge its age: an idle relay opens no
	// windows. 0 if the store has no windows.
	Window    int64
	WindowAge time.Duration
	// Problem is what is wrong with the slot's position, "" for nothing: for example, it belongs
	// to another cluster or another log, or lies ahead of the log. Relays refuse it, and the
	// whole log counts as not settled.
	Problem string
	// Backlog is the number of messages that are not settled: exact up to a thousand, perhaps an
	// estimate beyond that.
	Backlog int64
	// Lag is the age of the oldest message that is not settled, since it was enqueued; 0 if there
	// is none. Open transactions do not reduce it.
	Lag time.Duration
}
