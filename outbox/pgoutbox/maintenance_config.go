package pgoutbox

import (
	"cmp"
	"context"
	"iter"
	"time"

	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// MaintenanceConfig tunes Maintenance. The zero value is a good start: a week of history in
// ranges of 21 hours, or of ten million messages if that is reached sooner.
type MaintenanceConfig struct {
	// Interval is the time between two rounds.
	// Defaults to 1 min.
	Interval time.Duration

	// Lease is how long others wait before they take over from a process that died.
	// At least 1 s. Defaults to 30 s.
	Lease time.Duration

	// Retention is how long messages are kept for replay once every group is past them; negative
	// keeps them for ever. A range is dropped when its youngest message is older, and is closed
	// after an eighth of Retention (1 min at least), so a message is dropped at most that much
	// later. Defaults to 7 days.
	Retention time.Duration

	// MaxBytes bounds the size of the log with its indexes: while it is exceeded, the oldest
	// range is dropped whatever its age, but never before every group is past it. A range is
	// closed at an eighth of MaxBytes (1 MiB at least). Defaults to 0: no bound.
	MaxBytes int64

	// PartitionSize is the length of new ranges in sequence numbers, 10 at least. A range
	// that is closed by age or size leaves the rest of its numbers unused.
	// Defaults to 10,000,000.
	PartitionSize int64

	// Ahead is the number of empty ranges that are kept between the sequence and the open-ended
	// last range, 1 to 100. When there are fewer, new ones are created up to twice that number.
	// At least 15 while a publication copies the log to another database.
	// Defaults to 2.
	Ahead int

	// LockTimeout bounds each wait for a lock on the log, and so the time for which producers
	// queue behind it. Keep it below the server's deadlock_timeout (1 s). When a wait times out,
	// maintenance tries again with backoff, and then in the next round. Defaults to 200 ms.
	LockTimeout time.Duration

	// MaxTailScan bounds the size in bytes up to which an open-ended range that is in use is
	// closed. PostgreSQL reads it while producers wait: about a second per gigabyte. A larger one
	// stays open, its old messages are deleted in chunks, and an alarm is raised. That only
	// happens if maintenance did not run for as long as all ranges ahead lasted. Defaults to 256
	// MiB.
	MaxTailScan int64

	// NoDDL deletes old messages in chunks and leaves the ranges alone, for databases whose role
	// may not create and drop tables. It excludes MaxBytes, since deleting does not make a table
	// smaller. Defaults to false.
	NoDDL bool

	// DeleteChunk is the number of messages that one DELETE considers, 1 to 100,000. Defaults to
	// 5,000.
	DeleteChunk int

	// Archive is called with each range before it is dropped, or with each chunk before it is
	// deleted. Its error keeps them. It is called at least once for each removed message, never
	// concurrently, and should read rows to the end. Defaults to none.
	Archive ArchiveFunc

	// KeepAudit is how long rows of the audit are kept, KeepDead those of dead records.
	// Default to 0: for ever.
	KeepAudit, KeepDead time.Duration

	// WarnAt is the part of a group's greatest lag, or of Retention if it has none, at which an
	// alarm is raised, above 0 and at most 1. Defaults to 0.5.
	WarnAt float64

	// Hooks observe maintenance, by admin.MaintenanceHook and outbox.AlarmHook. Alarms are also logged.
	// Defaults to none.
	Hooks []outbox.Hook

	// DelayedPoll is how often delayed messages are looked up. A message that was seen before its
	// time is moved at its time; one that is delayed by less than DelayedPoll can be late by that
	// much. Defaults to 1 s.
	DelayedPoll time.Duration
}

// ArchiveFunc stores elsewhere what is about to be removed. Records come in the order of Seq,
// read as they are asked for; after an error the sequence ends.
type ArchiveFunc func(ctx context.Context, part admin.Range, records iter.Seq2[outbox.Record, error]) error

func (c MaintenanceConfig) withDefaults() MaintenanceConfig {
	c.Interval = cmp.Or(c.Interval, time.Minute)
	c.Lease = cmp.Or(c.Lease, 30*time.Second)
	c.Retention = cmp.Or(c.Retention, 7*24*time.Hour)
	c.PartitionSize = cmp.Or(c.PartitionSize, 10_000_000)
	c.Ahead = cmp.Or(c.Ahead, 2)
	c.LockTimeout = cmp.Or(c.LockTimeout, 200*time.Millisecond)
	c.MaxTailScan = cmp.Or(c.MaxTailScan, 256<<20)
	c.DeleteChunk = cmp.Or(c.DeleteChunk, 5000)
	c.WarnAt = cmp.Or(c.WarnAt, 0.5)
	c.DelayedPoll = cmp.Or(c.DelayedPoll, time.Second)
	return c
}

func (c MaintenanceConfig) validate() error {
	for _, f := range []struct {
		name  string
		value any
		bad   bool
		rule  string
	}{
		{"Interval", c.Interval, c.Interval < time.Millisecond, "must be at least 1ms"},
		{"Lease", c.Lease, c.Lease < time.Second, "must be at least 1s"},
		{"MaxBytes", c.MaxBytes, c.MaxBytes < 0, "must not be negative"},
		{"MaxBytes", c.MaxBytes, c.MaxBytes > 0 && c.NoDDL, "must be 0 where NoDDL is set"},
		{"PartitionSize", c.PartitionSize, c.PartitionSize < 10 || c.PartitionSize > 1e15, "must be 10 to 10^15"},
		{"Ahead", c.Ahead, c.Ahead < 1 || c.Ahead > 100, "must be 1 to 100"},
		{"LockTimeout", c.LockTimeout, c.LockTimeout < time.Millisecond || c.LockTimeout > time.Minute, "must be 1ms to 1m"},
		{"MaxTailScan", c.MaxTailScan, c.MaxTailScan < 0, "must not be negative"},
		{"DeleteChunk", c.DeleteChunk, c.DeleteChunk < 1 || c.DeleteChunk > 100_000, "must be 1 to 100000"},
		{"KeepAudit", c.KeepAudit, c.KeepAudit < 0, "must not be negative"},
		{"KeepDead", c.KeepDead, c.KeepDead < 0, "must not be negative"},
		{"WarnAt", c.WarnAt, !(c.WarnAt > 0 && c.WarnAt <= 1), "must be above 0 and at most 1"},
		{"DelayedPoll", c.DelayedPoll, c.DelayedPoll < time.Millisecond, "must be at least 1ms"},
	} {
		if f.bad {
			return outbox.ConfigError(f.name, f.value, f.rule)
		}
	}
	return hooks.Refuse(c.Hooks, "pgoutbox", hooks.Is[admin.MaintenanceHook], hooks.Is[outbox.AlarmHook])
}
