// Package pglease keeps leases in PostgreSQL: the right of one process of many to do
// something for a while.
//
// A lease is a row with an owner, an epoch and an end. Who claims it raises the epoch, in
// a transaction that waits for the disk. What is written under a lease compares owner and
// epoch in its own statement, so that a write which arrives late changes nothing. It
// compares both: a server that has lost a claim in a crash issues its epoch a second time.
//
// The database's clock alone decides when a lease ends.
//
// A lease can end before: with the session that holds it. A session locks the name of its owner
// (an advisory lock, which the server gives back when the session ends), and only then claims,
// under a name that says so: it is marked. Whoever finds a marked lease held tries that lock. If
// it gets it, the session is gone, and the lease is given up for it (Bury). Leases that are not
// marked count until they run out. Nothing but time rests on the locks: two who believe that they
// hold a lease are told apart by owner and epoch, as ever.
package pglease

import (
	"context"
	"embed"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/sqlfile"
)

//go:embed sql/*.sql
var files embed.FS

// Statements are the package's SQL for one table of leases. A value is safe for
// concurrent use.
type Statements struct {
	claim, claimRow, holder string
	renew, release          string
	lockable, lock, unlock  string
	look, gone, bury        string
	policies, policiesKeep  string
}

// Prepare renders the statements for the leases beside the log called names.Table.
func Prepare(names pgmigrate.Names) (*Statements, error) {
	s := &Statements{}
	return s, sqlfile.Load(files, names.Render, map[string]*string{
		"claim":     &s.claim,
		"claim_row": &s.claimRow,
		"holder":    &s.holder,
		"renew":     &s.renew,
		"release":   &s.release,
		"lockable":  &s.lockable,
		"lock":      &s.lock,
		"unlock":    &s.unlock,
		"look":      &s.look,
		"gone":      &s.gone,
		"bury":      &s.bury,

		"policies":      &s.policies,
		"policies_keep": &s.policiesKeep,
	})
}

// Querier runs one statement; *pgx.Conn, *pgxpool.Pool and pgx.Tx are Queriers.
type Querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Beginner begins transactions; *pgx.Conn and *pgxpool.Pool are Beginners.
type Beginner interface {
	BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error)
}
