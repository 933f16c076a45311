// Package pglog is the session of a relay that reads a log in PostgreSQL by windows (see
// pgwindow), under a lease (see pglease), and sets records aside (see pgheld). What
// differs from log to log, such as how the rows of a window are read, is a Log's.
//
// A session has two connections of its own. The reader belongs to Read and to what reads
// the held records, the writer to Advance, Hold, Resolve and Renew, so that settling and
// renewing never wait for a page, however large it is. The writer's is where the lease was
// claimed, and its lock lives with it. A session opens neither again: if one is lost, the session
// is over.
package pglog

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/internal/pgheld"
	"github.com/leat-go/leat/outbox/internal/pglease"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// Log reads the rows of one slot of one log, for one session, which calls one method at a
// time.
type Log interface {
	// Load returns the window where the session begins and the number of slots of its
	// group. reader is the connection that all methods of the Log use; the session
	// closes it.
	Load(ctx context.Context, reader *pgx.Conn) (w pgwindow.Window, slots int, err error)

	// Page returns the next rows of a window, at most limit records. An error leaves the
	// place where it was: the same call comes again.
	Page(ctx context.Context, at Place, limit int) (Rows, error)

	// Probe reports whether there may be something that no window up to w holds.
	Probe(ctx context.Context, w pgwindow.Window) (bool, error)

	// Open finishes w and returns the window that follows it. All of w is settled. Open
	// is called after a Probe of w that has found something.
	Open(ctx context.Context, w pgwindow.Window) (pgwindow.Window, error)
}

// Place is how far a window was read.
type Place struct {
	Window pgwindow.Window
	// Read: rows of the window up to here were read.
	Read int64
	// Whole reports whether these are all.
	Whole bool
	// Skip are rows of the window that were handed out early, ascending: Page leaves them
	// out.
	Skip []int64
}

// Rows are rows of a window.
type Rows struct {
	// Records are those of the rows that a relay sends, ascending in Seq.
	Records []outbox.Record
	// Last: rows of the window up to here were read with these.
	Last int64
	// Whole reports whether no row of the window is left.
	Whole bool
	// Free, unless nil, lets later pages use the memory of Records.
	Free func()
}

// Config is what a Session is made of. All of it but Tail is required.
type Config struct {
	// Lease is what the session reads under.
	Lease pglease.Lease

	// Leases, Windows and Held are the statements of the log.
	Leases  *pglease.Statements
	Windows *pgwindow.Statements
	Held    *pgheld.Statements

	// Writer is the connection on which the lease was claimed. It is the session's from then on.
	Writer *pgx.Conn

	// Connect opens another connection for the session.
	Connect func(ctx context.Context) (*pgx.Conn, error)

	// Pool gives up the lease if the session's connections are lost.
	Pool pglease.Querier

	// Describe adds to an error of the database what it means for the log. Unusable marks
	// errors that trying again cannot mend (see the function Unusable).
	Describe, Unusable func(error) error

	// Ended is called once, after the session was released.
	Ended func()

	// Tail brings rows early, if the relay follows. Look is how long the session goes by the
	// tail alone before it opens a window. Without a Tail all rows come from windows.
	Tail Tail
	Look time.Duration
}
