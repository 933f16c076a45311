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

// Stores that a run can use.
const (
	// Postgres uses pgoutbox and pginbox.
	Postgres = "postgres"
	// MySQL, MariaDB and SQLite use sqloutbox and sqlinbox.
	MySQL   = "mysql"
	MariaDB = "mariadb"
	SQLite  = "sqlite"
	// DynamoDB uses dynamooutbox and dynamoinbox.
	DynamoDB = "dynamodb"
)

// Stores returns all stores.
func Stores() []string { return []string{Postgres, MySQL, MariaDB, SQLite, DynamoDB} }

// Dial opens a connection to a server.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// IsSQL reports whether a store needs an Opener.
func IsSQL(store string) bool { return store == MySQL || store == MariaDB || store == SQLite }

// Opener opens a database other than PostgreSQL with a driver of database/sql, since this module links
// none. address is a URL of MySQL or MariaDB, whose query sets system variables of the sessions, or the
// path of a SQLite file. dial opens the connections.
type Opener func(store, address string, dial Dial) (*sql.DB, error)

// store is a process's database with its outbox. It has all operations that the roles need.
type store interface {
	outbox.Enqueuer

	close()
	// inTx runs work in a transaction of the outbox. work's context carries the transaction.
	inTx(ctx context.Context, work func(ctx context.Context) error) error
	// rolledBack reports whether an error of inTx means that nothing was committed.
	rolledBack(err error) bool
	// enqueuePlainly enqueues like a producer that does not use a library. headers are any JSON, or empty.
	enqueuePlainly(ctx context.Context, m outbox.Message, headers string) error
	// transfer writes a transfer into the bank's books, and returns its version.
	transfer(ctx context.Context, e event) (version int64, err error)
	// book writes a transfer into the ledger's books. child is the id of its receipt.
	book(ctx context.Context, e event, child string) error

	// inbox returns the ledger's inbox.
	inbox(hooks ...outbox.Hook) (markedInbox, error)
	// forgets returns a function that deletes old records of that inbox once.
	forgets() (round func(ctx context.Context) error, err error)
	// source returns the source for relays that send at least once.
	source() (driver.Source, error)
	// maintenance returns a function that runs one round of the log's maintenance.
	maintenance() (round func(ctx context.Context) error, err error)
	// notify wakes relays of other processes after commits, until ctx ends.
	notify(ctx context.Context)

	// page returns the messages whose numbers are above a cursor in the database, at most 500, and the last
	// number. moveCursor moves the cursor.
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

// RememberFor is how long the ledger's inbox remembers messages. It is longer than any run, and shorter
// than the jump of some clocks.
const RememberFor = 24 * time.Hour

// ledgerInbox returns the configuration of the ledger's inbox, which parks messages that fail.
func ledgerInbox(hooks ...outbox.Hook) inbox.Config {
	return inbox.Config{
		BusyDelay: 20 * time.Millisecond,
		OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 5, Delay: 20 * time.Millisecond, MaxDelay: 200 * time.Millisecond},
		Hooks:     hooks,
	}
}
