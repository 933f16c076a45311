package open

import (
	"context"
	"time"

	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// Served is what a daemon needs of a Database.
type Served interface {
	// Name is the database for operators, without what is secret; empty if nothing names it.
	Name() string
	// Ping asks whether the database answers.
	Ping(ctx context.Context) error
	// Relayed returns the outbox that t names in the database.
	Relayed(t Target) (Relayed, error)
	// InboxAt returns the inbox that t names in the database, InboxMaintenance what keeps it.
	InboxAt(t Target) (inboxadmin.Inbox, error)
	InboxMaintenance(t Target, u InboxUpkeep) (Runner, error)
}

// Relayed is an outbox that a daemon relays and maintains.
type Relayed interface {
	// Admin is what operators see.
	Admin() admin.Outbox
	// Source returns what a relay reads. Errors name the field of the request that the
	// store cannot have.
	Source(s SourceRequest) (driver.Source, error)
	// Maintenance returns what keeps the outbox. Errors name the field of u.
	Maintenance(u Upkeep) (Runner, error)
}

// Runner works until its context ends.
type Runner interface {
	Run(ctx context.Context) error
}

// SourceRequest is what a relay reads.
type SourceRequest struct {
	Group    string
	Slots    int
	Topics   []string
	NoListen bool
	// Start is where a new group begins: oldest, now, or "" for what is usual. At is a time.
	Start string
	At    time.Time
	// Tail is nil for none.
	Tail *pgoutbox.TailConfig
	// SyncPositions is for sinks that keep positions themselves.
	SyncPositions bool
}

// start is where a new group begins.
func (s SourceRequest) start() driver.Start {
	if !s.At.IsZero() {
		return driver.Start{At: s.At}
	}
	return driver.Start{Oldest: s.Start == "oldest", Now: s.Start == "now"}
}

// Upkeep is how an outbox is maintained. The zero value of a field says nothing.
type Upkeep struct {
	Interval, Lease, Retention, KeepAudit, KeepDead time.Duration

	MaxBytes, PartitionSize int64
	Ahead                   int
	NoDDL                   bool
	Archive                 pgoutbox.ArchiveFunc
	// Hooks observe a maintenance that has hooks.
	Hooks []outbox.Hook
}

// InboxUpkeep is how an inbox is maintained. The zero value of a field says nothing.
type InboxUpkeep struct {
	Retention, Width, Interval, KeepOther, KeepAudit time.Duration

	Ahead int
	NoDDL bool
	// Hooks observe a maintenance that has hooks.
	Hooks []outbox.Hook
}

// unable is an option that a store does not have.
type unable struct {
	name  string
	value any
	set   bool
}

// refuse returns an error about the first of options that is set.
func refuse(what string, options ...unable) error {
	for _, o := range options {
		if o.set {
			return outbox.ConfigError(o.name, o.value, what+" cannot do this: leave it out")
		}
	}
	return nil
}
