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
	// Room asks how many connections the server has.
	Room(ctx context.Context) (Room, error)
	// Need is how many connections a daemon takes that does w: least, which it cannot do without if
	// all parts work at the same time, and most, if relays have a second one while pages follow each
	// other.
	Need(w Work) (least, most int)
	// Spare bounds the connections that relays take beside those that they cannot do without.
	Spare(most int)
	// Relayed returns the outbox that t names in the database.
	Relayed(t Target) (Relayed, error)
	// InboxAt returns the inbox that t names in the database, InboxMaintenance what keeps it.
	InboxAt(t Target) (inboxadmin.Inbox, error)
	InboxMaintenance(t Target, u InboxUpkeep) (Runner, error)
}

// Room is what a server has for its clients. The zero value has no bound.
type Room struct {
	// Server names it, for all of its databases.
	Server string
	// Most is how many connections it gives to all of them, without those that it reserves; Left is
	// how many of those are free.
	Most, Left int
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
