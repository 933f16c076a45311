package pginbox

import (
	"cmp"
	"time"

	"github.com/leat-go/leat/inbox/internal/pgpark"
	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/outbox"
	outboxadmin "github.com/leat-go/leat/outbox/admin"
)

// MaintenanceConfig tunes Maintenance. The zero value remembers two weeks in ranges
// of a day.
type MaintenanceConfig struct {
	// Retention is how long ids of version 7 are remembered at least, by the time in them; at
	// most one Width longer. Make it longer than the longest time after which a message can be
	// redelivered, including the retention of the topic and replays. At least one Width. Defaults
	// to 14 days.
	Retention time.Duration

	// Width is the time that a new range covers, 1 s to 366 days. Existing ranges keep theirs.
	// Defaults to 24 h.
	Width time.Duration

	// Ahead is the number of ranges that are kept ready beyond the present one, 1 to 100. At least 30
	// while a publication copies the inbox to another database.
	// Defaults to 3.
	Ahead int

	// KeepOther is how long ids of other versions are remembered after their arrival, 1 min or
	// more. Such an id does not show its age: a message that is redelivered later than that runs
	// again, unnoticed. Defaults to 0: for ever.
	KeepOther time.Duration

	// KeepAttempts is how long attempts at messages that failed and were not redelivered are
	// remembered, 1 h or more. Make it longer than the longest pause between two deliveries of a
	// message: after it, attempts are counted from 1 again. Defaults to Retention, 1 h at least.
	KeepAttempts time.Duration

	// KeepNotes is how long fingerprints and replies are kept, 1 h or more. After that a
	// duplicate is still recognised, but its fingerprint is not compared, and its reply is nil.
	// Defaults to 0: for ever.
	KeepNotes time.Duration

	// KeepAudit is how long rows of the audit, which records changes of parked messages by
	// operators and policies, are kept: at least 24 h. Defaults to 0: for ever.
	KeepAudit time.Duration

	// NoDDL deletes old ids in chunks instead of dropping ranges, for databases whose role may
	// not create and drop tables. Enable still needs that right, once. The value at the time of
	// Enable stays: it cannot be changed later. Defaults to false.
	NoDDL bool

	// Interval is the time between two rounds.
	// Defaults to 1 min.
	Interval time.Duration

	// Lease is how long others wait before they take over from a process that died.
	// At least 1 s. Defaults to 5 min.
	Lease time.Duration

	// LockTimeout bounds each wait for a lock that claims would queue behind. After several
	// failed tries the round continues without it, and the next one tries again. Defaults to 200
	// ms.
	LockTimeout time.Duration

	// DetachTimeout bounds the wait for transactions that use a range to drop. Claims do not wait
	// for it. If it is over, the next round finishes the work. Defaults to 30 s.
	DetachTimeout time.Duration

	// DeleteChunk is the number of rows that one DELETE looks for, 1 to 100,000.
	// Defaults to 5,000.
	DeleteChunk int

	// Needs is the time that the inbox must cover; Run warns if Retention is too short. Defaults
	// to nothing.
	Needs RetentionNeeds

	// Hooks observe maintenance, by admin.MaintenanceHook and outbox.AlarmHook. Alarms are also logged.
	// Defaults to none.
	Hooks []outbox.Hook
}

func (c MaintenanceConfig) withDefaults() MaintenanceConfig {
	c.Retention = cmp.Or(c.Retention, 14*24*time.Hour)
	c.KeepAttempts = cmp.Or(c.KeepAttempts, max(c.Retention, time.Hour))
	c.Width = cmp.Or(c.Width, 24*time.Hour)
	c.Ahead = cmp.Or(c.Ahead, 3)
	c.Interval = cmp.Or(c.Interval, time.Minute)
	c.Lease = cmp.Or(c.Lease, 5*time.Minute)
	c.LockTimeout = cmp.Or(c.LockTimeout, 200*time.Millisecond)
	c.DetachTimeout = cmp.Or(c.DetachTimeout, 30*time.Second)
	c.DeleteChunk = cmp.Or(c.DeleteChunk, 5000)
	return c
}

func (c MaintenanceConfig) validate() error {
	const longest = 366 * 24 * time.Hour
	for _, f := range []struct {
		name  string
		value any
		bad   bool
		rule  string
	}{
		{"Width", c.Width, c.Width < time.Second || c.Width > longest, "must be 1s to 8784h"},
		{"Retention", c.Retention, c.Retention < c.Width, "must be at least Width = " + c.Width.String()},
		{"Ahead", c.Ahead, c.Ahead < 1 || c.Ahead > 100, "must be 1 to 100"},
		{"KeepOther", c.KeepOther, c.KeepOther != 0 && c.KeepOther < time.Minute, "must be at least 1m, or 0"},
		{"KeepAttempts", c.KeepAttempts, c.KeepAttempts < time.Hour, "must be at least 1h"},
		{"KeepNotes", c.KeepNotes, c.KeepNotes != 0 && c.KeepNotes < time.Hour, "must be at least 1h, or 0"},
		{"KeepAudit", c.KeepAudit, c.KeepAudit != 0 && c.KeepAudit < pgpark.LeastAudit, "must be at least 24h, or 0"},
		{"Interval", c.Interval, c.Interval < time.Millisecond, "must be at least 1ms"},
		{"Lease", c.Lease, c.Lease < time.Second, "must be at least 1s"},
		{"LockTimeout", c.LockTimeout, c.LockTimeout < time.Millisecond || c.LockTimeout > time.Minute, "must be 1ms to 1m"},
		{"DetachTimeout", c.DetachTimeout, c.DetachTimeout < time.Millisecond, "must be at least 1ms"},
		{"DeleteChunk", c.DeleteChunk, c.DeleteChunk < 1 || c.DeleteChunk > 100_000, "must be 1 to 100000"},
	} {
		if f.bad {
			return outbox.ConfigError(f.name, f.value, f.rule)
		}
	}
	return hooks.Refuse(c.Hooks, "pginbox", hooks.Is[outboxadmin.MaintenanceHook], hooks.Is[outbox.AlarmHook])
}
