// Package open opens the databases that leat operates, by the scheme of the URL. The interfaces of a
// Database show what its stores can do.
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

// Target is a database to open.
type Target struct {
	// URL is the URL of the database; if empty, PG* variables apply.
	URL string
	// Again returns the current URL. New connections use its user and password. Defaults to URL.
	Again func() (string, error)
	// Schema, Outbox, Inbox and Dedupe name the tables. Only PostgreSQL has a Schema.
	Schema, Outbox, Inbox, Dedupe string
	// Forwarder is the topic of Watermill's forwarder whose table is the outbox. If it is empty, the outbox
	// is leat's own.
	Forwarder string
	// ForwarderSchema holds the forwarder's tables. Defaults to public.
	ForwarderSchema string
	// AsyncCommit lets relays start although the database answers a COMMIT before it is durable.
	AsyncCommit bool
	// Group is the relay group of a forwarder's table. Defaults to "default".
	Group string
	// LockTimeout bounds each wait for a lock in a migration. Defaults to 5 s.
	LockTimeout time.Duration
	// Connections is the most connections of the pool. Defaults to 4.
	Connections int
	// Dial opens connections. Defaults to that of package net.
	Dial Dial
	// Create creates a file of SQLite that does not exist. Defaults to false.
	Create bool
	// Offline is set if only the migration files are needed, and nothing is connected to.
	Offline bool
	// Logger receives the log of the library.
	Logger *slog.Logger
}

// again returns the current URL.
func (t Target) again() (string, error) {
	if t.Again == nil {
		return t.URL, nil
	}
	return t.Again()
}

// Database is a database with leat's stores. Further features are the interfaces Replayer, Rebaser,
// LogRebaser, Handoffs, Maintainer and RetentionEnabler.
type Database interface {
	// Outbox returns the outbox. It connects to nothing until it is used.
	Outbox() (admin.Outbox, error)
	// Inbox returns the inbox, with all of its consumers.
	Inbox() (inboxadmin.Inbox, error)
	// Component returns the schema of outbox, inbox or dedupe.
	Component(name string) (Component, error)
	// Product is the name of the database product, such as PostgreSQL.
	Product() string
	// Close closes the connections.
	Close()

	Served
}

// Component is a schema with versions.
type Component interface {
	// Status returns the version in the database and the latest one.
	Status(ctx context.Context) (current, latest int, err error)
	// Migrate migrates it to the latest version.
	Migrate(ctx context.Context) error
	// Files are its migrations.
	Files() (fs.FS, error)
}

// Components are the names of all schemas, in the order in which they are migrated.
func Components() []string { return []string{"outbox", "inbox", "dedupe"} }

// Selection selects the records to replay. The zero value selects all that are retained.
type Selection struct {
	From, To          time.Time
	Group             string
	Topics, Keys, IDs []string
}

// Clock is a Database that can return its time, by which its records are dated.
type Clock interface {
	Now(ctx context.Context) (time.Time, error)
}

// TopicUse is the use of a topic.
type TopicUse struct {
	Topic string
	// Bytes is the approximate size of the largest record.
	Bytes int64
	// Late is the greatest age of a record's event when it was to be sent.
	Late time.Duration
}

// TopicLister is a Database that can list the topics in use.
type TopicLister interface {
	// Topics are the topics of recently enqueued and of waiting messages.
	Topics(ctx context.Context) ([]TopicUse, error)
	// Partitions is, for each topic, the number of partitions whose positions a consumer remembers.
	Partitions(ctx context.Context) (map[string]int, error)
}

// Replayer is a Database whose outbox keeps history.
type Replayer interface {
	History(s Selection) (driver.History, error)
}

// RebaseRequest describes where a group continues after its database was moved.
type RebaseRequest struct {
	admin.By
	Group string
	// KeepPosition keeps the position. Otherwise the group starts over: at its first unsettled message if
	// Unsettled is set, at the oldest one if Oldest is set, at At, or now.
	KeepPosition, Unsettled, Oldest bool
	At                              time.Time
	// LeaveOut is how many unsettled messages may be left out.
	LeaveOut int64
}

// RebasePlan is what a rebase would do: the messages that the group would send from then on, how many of
// those it has settled before, the unsettled messages that it would never send, those whose stored state
// contradicts itself, and the messages of any topic that must be changed to become visible.
type RebasePlan struct {
	Sends, Repeats, LeavesOut, Guesses, Adopts, Later int64
}

// Rebaser is a Database whose relay groups can be moved to a new cluster.
type Rebaser interface {
	PlanRebase(ctx context.Context, r RebaseRequest) (RebasePlan, error)
	Rebase(ctx context.Context, r RebaseRequest) error
}

// LogRebaser is a Database whose relay groups start over all at once, at the oldest message, after its log
// was emptied, replaced or restored.
type LogRebaser interface {
	RebaseLog(ctx context.Context, by admin.By) error
}

// MaintenanceRequest bounds what is retained.
type MaintenanceRequest struct {
	// Retention is how long messages are kept; negative: for ever. MaxBytes bounds the log, unless it is 0.
	Retention time.Duration
	MaxBytes  int64
	// PartitionSize, Ahead and NoDDL are the settings of the services that maintain the log.
	PartitionSize int64
	Ahead         int
	NoDDL         bool
}

// Maintainer is a Database whose outbox needs rounds of maintenance.
type Maintainer interface {
	Maintain(ctx context.Context, r MaintenanceRequest) (admin.MaintenanceReport, error)
}

// Elsewhere is a Database that can find outboxes with other names.
type Elsewhere interface {
	OtherOutboxes(ctx context.Context) ([]string, error)
}

// Marks is a Database whose inbox records how far consumer groups have come.
type Marks interface {
	Marker() (inboxdriver.Marker, error)
}

// RetentionEnabler is a Database whose inbox keeps ids for ever until retention is enabled.
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

// orNone returns a nil Database together with an error: a nil pointer in the interface would not be nil.
func orNone[D Database](db D, err error) (Database, error) {
	if err != nil {
		return nil, err
	}
	return db, nil
}
