// Package open opens what leat operates, by the scheme of its URL: what a store can do
// is found by the interfaces that it has.
package open

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	inboxadmin "github.com/leat-go/leat/inbox/admin"
	inboxdriver "github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// Dial opens a connection to a server.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

// Target is what is opened.
type Target struct {
	// URL is that of the database; empty: what PG* variables say.
	URL string
	// Again returns the URL as it is now: its user and password count for new connections.
	// Defaults to URL.
	Again func() (string, error)
	// Schema, Outbox, Inbox and Dedupe name the tables. Only PostgreSQL has a Schema.
	Schema, Outbox, Inbox, Dedupe string
	// Forwarder is the topic of Watermill's forwarder whose table is the outbox; empty:
	// the outbox is leat's own.
	Forwarder string
	// ForwarderSchema holds the forwarder's tables. Defaults to public.
	ForwarderSchema string
	// AsyncCommit lets relays start although the database answers a COMMIT before it is durable.
	AsyncCommit bool
	// Group is the relay group of a forwarder's table. Defaults to "default".
	Group string
	// LockTimeout bounds each wait for a lock in a migration. Defaults to 5 s.
	LockTimeout time.Duration
	// Connections is the most that the pool takes. Defaults to 4.
	Connections int
	// Dial opens connections. Defaults to that of package net.
	Dial Dial
	// Create lets a file of SQLite be made that is not there. Defaults to false.
	Create bool
	// Offline is set if nothing is connected to: only the files of migrations are wanted.
	Offline bool
	// Logger receives what the library tells of.
	Logger *slog.Logger
}

// again returns the URL as it is now.
func (t Target) again() (string, error) {
	if t.Again == nil {
		return t.URL, nil
	}
	return t.Again()
}

// Database is a database with stores of leat. What one has beyond it, it offers as
// Replayer, Rebaser, LogRebaser, Handoffs, Maintainer or RetentionEnabler.
type Database interface {
	// Outbox is the outbox, which connects to nothing until it is asked.
	Outbox() (admin.Outbox, error)
	// Inbox is the inbox, all of its consumers.
	Inbox() (inboxadmin.Inbox, error)
	// Component is the schema of outbox, inbox or dedupe.
	Component(name string) (Component, error)
	// Product is the name of what the stores are in, such as PostgreSQL.
	Product() string
	// Close gives the connections back.
	Close()

	Served
}

// Component is a schema with versions.
type Component interface {
	// Status returns the version in the database and the latest one.
	Status(ctx context.Context) (current, latest int, err error)
	// Migrate brings it to the latest version.
	Migrate(ctx context.Context) error
	// Files are its migrations.
	Files() (fs.FS, error)
}

// Components are the names of all schemas, in the order in which they are migrated.
func Components() []string { return []string{"outbox", "inbox", "dedupe"} }

// Selection is what is replayed. The zero value is all that is retained.
type Selection struct {
	From, To          time.Time
	Group             string
	Topics, Keys, IDs []string
}

// Clock is a Database that tells its time, which the times of its records are by.
type Clock interface {
	Now(ctx context.Context) (time.Time, error)
}

// TopicUse is how a topic is used.
type TopicUse struct {
	Topic string
	// Bytes is the size of the largest record, about.
	Bytes int64
	// Late is how long ago the event of a record was, at most, when it was to be sent.
	Late time.Duration
}

// TopicLister is a Database that tells which topics are in use.
type TopicLister interface {
	// Topics are those of what was enqueued lately and of what waits.
	Topics(ctx context.Context) ([]TopicUse, error)
	// Partitions is the number of partitions of each topic that a consumer remembers
	// positions in.
	Partitions(ctx context.Context) (map[string]int, error)
}

// Replayer is a Database whose outbox keeps history.
type Replayer interface {
	History(s Selection) (driver.History, error)
}

// RebaseRequest says where a group goes on after its database was moved.
type RebaseRequest struct {
	admin.By
	Group string
	// KeepPosition keeps the position. Else the group starts over: at the first message that
	// it has not settled if Unsettled is set, at the oldest if Oldest is, at At, or now.
	KeepPosition, Unsettled, Oldest bool
	At                              time.Time
	// LeaveOut is how many messages that are not settled may be left out.
	LeaveOut int64
}

// RebasePlan is what a rebase would do: messages that the group would send from then on,
// how many of those it has settled before, those that it has not settled and would never
// send, those about which what is stored contradicts itself, and those of any topic that are
// changed to be seen.
type RebasePlan struct {
	Sends, Repeats, LeavesOut, Guesses, Adopts int64
}

// Rebaser is a Database whose relay groups can be brought into a new cluster.
type Rebaser interface {
	PlanRebase(ctx context.Context, r RebaseRequest) (RebasePlan, error)
	Rebase(ctx context.Context, r RebaseRequest) error
}

// LogRebaser is a Database whose relay groups begin anew all at once, at the oldest message:
// after its log was emptied, replaced or set back.
type LogRebaser interface {
	RebaseLog(ctx context.Context, by admin.By) error
}

// MaintenanceRequest bounds what is kept.
type MaintenanceRequest struct {
	// Retention is how long messages are kept; negative: for ever. MaxBytes bounds the log;
	// 0 does not.
	Retention time.Duration
	MaxBytes  int64
	// PartitionSize, Ahead and NoDDL are those of the services that maintain the log.
	PartitionSize int64
	Ahead         int
	NoDDL         bool
}

// Maintainer is a Database whose outbox is kept in shape by rounds.
type Maintainer interface {
	Maintain(ctx context.Context, r MaintenanceRequest) (admin.MaintenanceReport, error)
}

// Elsewhere is a Database that can look for outboxes under other names.
type Elsewhere interface {
	OtherOutboxes(ctx context.Context) ([]string, error)
}

// Marks is a Database whose inbox notes how far consumer groups have come.
type Marks interface {
	Marker() (inboxdriver.Marker, error)
}

// RetentionEnabler is a Database whose inbox can be made to forget.
type RetentionEnabler interface {
	EnableRetention(ctx context.Context, retention, width time.Duration) error
}

// Open opens t. It connects to nothing.
func Open(ctx context.Context, t Target) (Database, error) {
	switch scheme := settings.Scheme(t.URL); scheme {
	case "postgres":
		return orNone(openPostgres(ctx, t))
	case "mysql", "mariadb", "sqlite":
		return orNone(openSQL(t))
	default:
		return nil, outbox.ConfigError("database", fmt.Sprintf("%q", scheme+"://…"), "must be a URL of postgres://, mysql:// or mariadb://, or sqlite: and a path")
	}
}

// orNone returns nothing beside an error, where a nil pointer would be a Database.
func orNone[D Database](db D, err error) (Database, error) {
	if err != nil {
		return nil, err
	}
	return db, nil
}
