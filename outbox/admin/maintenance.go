package admin

import (
	"context"
	"time"

	"github.com/leat-go/leat/outbox"
)

// SchemaStatus is the state of a store's tables.
type SchemaStatus struct {
	// Current is the version in the database, 0 if there is none; Latest is the one that
	// this library was written for. A Current above Latest is fine: a newer release has
	// migrated already.
	Current, Latest int
}

// MaintenanceHook sees what the maintenance of an outbox or an inbox does.
type MaintenanceHook interface {
	// OnAdminMaintenance is called after each round of a Maintenance. An outbox's Maintenance
	// also calls it whenever it has moved delayed messages into the log between two rounds, or
	// failed to. There are no rounds while another process does the work.
	OnAdminMaintenance(ctx context.Context, e MaintenanceEvent)
}

// MaintenanceEvent is a round that has ended.
type MaintenanceEvent struct {
	// Between is set if delayed messages were moved between two rounds.
	Between bool
	// Report lists the work that was done, up to the error if there was one.
	Report MaintenanceReport
	// Took is the time that it took.
	Took time.Duration
	// Err is the error of what could not be done, nil if all was done. It is ctx's error if Run
	// was stopped.
	Err error
}

// MaintenanceReport is the work of one round of a Maintenance. Fields that do not apply to a store are
// zero.
type MaintenanceReport struct {
	// Added and Dropped are the range tables that the round has created and removed. Closed are
	// ranges of an outbox that were in use and had become old or large enough: the sequence goes
	// on in the next one.
	Added, Dropped, Closed []string
	// Deleted is the number of messages, or of an inbox's ids, that were deleted row by row.
	Deleted int64
	// Pruned… are the numbers of rows deleted from the audit, dead records, attempts, and
	// fingerprints and replies.
	PrunedAudit, PrunedDead, PrunedAttempts, PrunedNotes int64
	// Promoted is the number of delayed messages that were moved into the log.
	Promoted int64
	// Gaps is the number of sequence numbers that the round has made sure will never be used, on
	// MySQL, MariaDB and SQLite.
	Gaps int64
	// PinnedBy are the groups that have not settled what is old enough to be deleted, on
	// MySQL, MariaDB and SQLite. On PostgreSQL such a group is an alarm.
	PinnedBy []string
	// Floor is the time from which an inbox remembers ids of version 7 for certain, for all
	// consumers; zero if it has never forgotten any. It stays behind while deliveries run.
	Floor time.Time
	// Busy is set if a lock could not be acquired in the time that the round waits. The next
	// round tries again.
	Busy bool
	// Alarms are the problems that need an operator's attention.
	Alarms []outbox.AlarmEvent
}

// MaintenanceState is the state of a Maintenance, for readiness and metrics. A standby is as
// ready as a leader.
type MaintenanceState struct {
	// Running is set while Run or RunOnce is under way.
	Running bool
	// Rounds is the state of the rounds, Delayed that of moving delayed messages into the log. In
	// pgoutbox each has a lease of its own, so that two processes may share them.
	Rounds, Delayed TaskState
	// Report is the report of the last round of this process. It must not be changed. It is empty while
	// another process does the rounds.
	Report MaintenanceReport
}

// TaskState is the state of one task of a Maintenance. Times are by this process' clock, zero if
// there was none.
type TaskState struct {
	// Leads is set while this process does the task. On MySQL, MariaDB and SQLite any number of
	// processes may lead, and divide the work.
	Leads bool
	// LeadsSince is when this process last won the lease of the task, if there is one.
	LeadsSince time.Time
	// Leader is the process that held the lease when this process last asked for it. "" if this
	// process leads or has not asked, and for an inbox.
	Leader string
	// LastRun is when this process last did the task, or tried to and failed. LastErr is the
	// error of that run, nil if there was none, and nil while another process leads.
	LastRun time.Time
	LastErr error
	// LastSuccess is when this process last did all of the task: without an error, and without
	// being blocked by others.
	LastSuccess time.Time
}

// Ended records that the task was done, for implementations of a store: err is the error, and all
// is set if nothing stood in the way.
func (t *TaskState) Ended(err error, all bool) {
	t.LastRun, t.LastErr = time.Now(), err
	if err == nil && all {
		t.LastSuccess = t.LastRun
	}
}
