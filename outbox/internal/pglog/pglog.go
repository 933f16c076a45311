// Package pglog is the session of a relay that reads a log in PostgreSQL by windows (see
// pgwindow), under a lease (see pglease), and sets records aside (see pgheld). A Log implements
// what differs from log to log, such as how the rows of a window are read.
//
// A session has its own connection, the writer's, on which the lease was claimed; the lease's
// lock ends with it. Advance, Hold, Resolve and Renew use it. While pages follow each other there
// is a second connection, the reader's, so that settling and renewing never wait for a page,
// however large it is. While nothing waits to be settled, Read uses the writer's. If either is
// lost, the session is over.
package pglog

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgheld"
	"github.com/leat-go/leat/outbox/internal/pglease"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// Log reads the rows of one slot of one log, for one session, which calls one method at a
// time.
type Log interface {
	// Use sets the connection that the other methods use from now on. The session owns it.
	Use(conn *pgx.Conn)

	// Load returns the window at which the session begins and the number of slots of its group.
	Load(ctx context.Context) (w pgwindow.Window, slots int, err error)

	// Page returns the next rows of a window that was not read to its end, at most limit records.
	// An error does not move the place: the same call is repeated.
	Page(ctx context.Context, at Place, limit int) (Rows, error)

	// Probe reports whether there may be something that no window up to w holds, and additional
	// findings, nil if it has not looked.
	Probe(ctx context.Context, w pgwindow.Window) (bool, *driver.Idle, error)

	// Open finishes w and returns the window that follows it. All of w is settled. Open
	// is called after a Probe of w that has found something.
	Open(ctx context.Context, w pgwindow.Window) (pgwindow.Window, error)
}

// Place is how far a window has been read.
type Place struct {
	Window pgwindow.Window
	// Read is the number up to which the window was read.
	Read int64
	// Whole is set if these are all rows of the window.
	Whole bool
	// Skip are rows of the window that were handed out early, ascending: Page leaves them
	// out.
	Skip []int64
}

// Rows are rows of a window.
type Rows struct {
	// Records are the rows that a relay sends, ascending in Seq.
	Records []outbox.Record
	// Last is the number up to which the window has been read, with these rows.
	Last int64
	// Whole reports whether no row of the window is left.
	Whole bool
	// Free, unless nil, lets later pages use the memory of Records.
	Free func()
}

// Config is the configuration of a Session. All fields except Apart and Tail are required.
type Config struct {
	// Lease is the lease under which the session reads.
	Lease pglease.Lease

	// Leases, Windows and Held are the statements of the log.
	Leases  *pglease.Statements
	Windows *pgwindow.Statements
	Held    *pgheld.Statements

	// Writer is the connection on which the lease was claimed. The session owns it from then on.
	Writer *pgx.Conn

	// Connect opens another connection for the session, if there is Room for it. Apart is set if
	// windows need a connection with other settings than the writer's: then the session has both
	// from the beginning.
	Connect func(ctx context.Context) (*pgx.Conn, error)
	Room    *pgpin.Room
	Apart   bool

	// Pool releases the lease if the session's connections are lost, and renews it while the
	// writer's is in use.
	Pool pglease.Querier

	// Logger logs that a second connection is not available.
	Logger *slog.Logger

	// Describe explains what a database error means for the log. Unusable marks errors that
	// trying again cannot fix (see the function Unusable).
	Describe, Unusable func(error) error

	// Ended is called once, after the session was released.
	Ended func()

	// Tail delivers rows early, if the relay follows. Look is how long the session relies on the
	// tail alone before it opens a window. Without a Tail all rows come from windows.
	Tail Tail
	Look time.Duration
}
