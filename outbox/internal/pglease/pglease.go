// Package pglease keeps leases in PostgreSQL: the right of one process of many to do
// something for a while.
//
// A lease is a row with an owner, an epoch and an end. A claim raises the epoch, in a transaction
// that waits for the disk. A write under a lease compares owner and epoch in its own statement,
// so that a late write changes nothing. It compares both, because a server that has lost a claim
// in a crash issues its epoch a second time.
//
// Only the database's clock decides when a lease expires.
//
// A lease can end earlier: with the session that holds it. A session locks the name of its owner
// (an advisory lock, which the server releases when the session ends), and only then claims,
// under a marked name, which says that it is locked. A claimant that finds a marked lease held
// tries that lock. If it gets it, the session is gone, and the lease is released on its behalf
// (Bury). Leases that are not marked are valid until they expire. The locks only save time: two
// sessions that both believe they hold a lease are still told apart by owner and epoch.
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

// Prepare renders the statements for the leases of the log called names.Table.
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
