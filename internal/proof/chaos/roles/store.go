package roles

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"time"

	"github.com/leat-go/leat/inbox"
	inboxdriver "github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// Stores on which a run can work.
const (
	// Postgres has pgoutbox and pginbox.
	Postgres = "postgres"
	// MySQL, MariaDB and SQLite have sqloutbox and sqlinbox.
	MySQL   = "mysql"
	MariaDB = "mariadb"
	SQLite  = "sqlite"
	// DynamoDB has dynamooutbox and dynamoinbox.
	DynamoDB = "dynamodb"
)

// Stores returns all of them.
func Stores() []string { return []string{Postgres, MySQL, MariaDB, SQLite, DynamoDB} }

// Dial opens a connection to a server.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// IsSQL reports whether a store needs an Opener.
func IsSQL(store string) bool { return store == MySQL || store == MariaDB || store == SQLite }

// Opener opens a database other than PostgreSQL with a driver of database/sql, since leat has no
// such driver itself. The address is a URL of MySQL or MariaDB, whose query has system variables of
// the sessions, or the path of a SQLite file. Dial opens the connections.
type Opener func(store, address string, dial Dial) (*sql.DB, error)

// store is a process's database with its outbox, with all operations that the roles need.
type store interface {
	outbox.Enqueuer

	close()
	// inTx runs work in a transaction of the outbox, which work's context carries.
	inTx(ctx context.Context, work func(ctx context.Context) error) error
	// rolledBack reports whether an error of inTx means that nothing was committed.
	rolledBack(err error) bool
	// enqueuePlainly enqueues like a producer without a library, with headers that are any JSON, or
	// empty.
	enqueuePlainly(ctx context.Context, m outbox.Message, headers string) error
	// transfer writes a transfer into the bank's books, and returns its version.
	transfer(ctx context.Context, e event) (version int64, err error)
	// book writes a transfer into the ledger's books, with the id of its receipt.
	book(ctx context.Context, e event, child string) error

	// inbox returns the ledger's inbox.
	inbox(hooks ...outbox.Hook) (markedInbox, error)
	// forgets returns a function that runs one round of that inbox's forgetting.
	forgets() (round func(ctx context.Context) error, err error)
	// source is the source for relays that send at least once.
	source() (driver.Source, error)
	// maintenance returns a function that runs one round of the log's maintenance.
	maintenance() (round func(ctx context.Context) error, err error)
	// notify notifies relays of other processes of commits, until ctx ends.
	notify(ctx context.Context)

	// page returns the messages whose numbers are above a cursor in the database, at most
	// 500, and the last number. moveCursor moves the cursor.
	page(ctx context.Context) (messages []outbox.Message, last int64, err error)
	moveCursor(ctx context.Context, last int64) error
}

// markedInbox is an inbox whose database remembers the group's offsets.
type markedInbox interface {
	inbox.Runner
	inboxdriver.Marker
}

// openStore opens the process's database.
func (p *process) openStore(ctx context.Context) (store, error) {
	switch p.Store {
	case Postgres:
		return p.openPostgres(ctx)
	case MySQL, MariaDB, SQLite:
		return p.openSQL()
	case DynamoDB:
		return p.openDynamo()
	default:
		return nil, fmt.Errorf("store %q is none of %v", p.Store, Stores())
	}
}

// RememberFor is how long the ledger's inbox remembers: longer than any run, and less than some clocks are set ahead.
const RememberFor = 24 * time.Hour

// ledgerInbox is the ledger's policy for messages that fail.
func ledgerInbox(hooks ...outbox.Hook) inbox.Config {
	return inbox.Config{
		BusyDelay: 20 * time.Millisecond,
		OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 5, Delay: 20 * time.Millisecond, MaxDelay: 200 * time.Millisecond},
		Hooks:     hooks,
	}
}
