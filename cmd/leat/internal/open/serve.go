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

// Served is a Database as a daemon uses it.
type Served interface {
	// Name is the name of the database for operators, without secrets. It is empty if there is none.
	Name() string
	// Ping checks that the database answers.
	Ping(ctx context.Context) error
	// Room returns how many connections the server has.
	Room(ctx context.Context) (Room, error)
	// Need returns how many connections a daemon with the work w takes. It cannot work with fewer than
	// least if all parts are busy at the same time. most is the limit, which is reached if relays have a
	// second connection while one page follows another.
	Need(w Work) (least, most int)
	// Spare bounds the optional connections of relays.
	Spare(most int)
	// Relayed returns the outbox that t names in the database.
	Relayed(t Target) (Relayed, error)
	// InboxAt returns the inbox that t names in the database, InboxMaintenance its maintenance.
	InboxAt(t Target) (inboxadmin.Inbox, error)
	InboxMaintenance(t Target, u InboxUpkeep) (Runner, error)
}

// Room are the connections that a server has for its clients. The zero value has no bound.
type Room struct {
	// Server is the name of the server, the same for all of its databases.
	Server string
	// Most is how many connections the server has for all clients, without those that it reserves. Left is
	// how many of them are free.
	Most, Left int
}

// Relayed is an outbox that a daemon relays and maintains.
type Relayed interface {
	// Admin returns the outbox for operators.
	Admin() admin.Outbox
	// Source returns the source of a relay. Errors name the field of the request that the store does not
	// support.
	Source(s SourceRequest) (driver.Source, error)
	// Maintenance returns the maintenance of the outbox. Errors name the field of u.
	Maintenance(u Upkeep) (Runner, error)
}

// Runner works until its context ends.
type Runner interface {
	Run(ctx context.Context) error
}

// SourceRequest describes the source of a relay.
type SourceRequest struct {
	Group    string
	Slots    int
	Topics   []string
	NoListen bool
	// Start is where a new group begins: oldest, now, or "" for the default. At is a time.
	Start string
	At    time.Time
	// Tail is nil if there is none.
	Tail *pgoutbox.TailConfig
	// SyncPositions is for sinks that store positions themselves.
	SyncPositions bool
}

// start returns where a new group begins.
func (s SourceRequest) start() driver.Start {
	if !s.At.IsZero() {
		return driver.Start{At: s.At}
	}
	return driver.Start{Oldest: s.Start == "oldest", Now: s.Start == "now"}
}

// Upkeep is the configuration of an outbox's maintenance. Zero values mean the default.
type Upkeep struct {
	Interval, Lease, Retention, KeepAudit, KeepDead time.Duration

	MaxBytes, PartitionSize int64
	Ahead                   int
	NoDDL                   bool
	Archive                 pgoutbox.ArchiveFunc
	// Hooks observe a maintenance that has hooks.
	Hooks []outbox.Hook
}

// InboxUpkeep is the configuration of an inbox's maintenance. Zero values mean the default.
type InboxUpkeep struct {
	Retention, Width, Interval, KeepOther, KeepAudit time.Duration

	Ahead int
	NoDDL bool
	// Hooks observe a maintenance that has hooks.
	Hooks []outbox.Hook
}

// unable is an option that a store does not support.
type unable struct {
	name  string
	value any
	set   bool
}

// refuse returns an error for the first option that is set.
func refuse(what string, options ...unable) error {
	for _, o := range options {
		if o.set {
			return outbox.ConfigError(o.name, o.value, what+" cannot do this: leave it out")
		}
	}
	return nil
}
