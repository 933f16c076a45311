// Package pgunit is the transaction that leat lends to a function and commits itself. It saves
// round trips: BEGIN travels with the first statement, and kept statements travel with COMMIT. See
// design 3.9.
package pgunit

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// answerTimeout bounds the wait for the answer to a COMMIT whose caller has gone.
const answerTimeout = 5 * time.Second

// Kept is work that a Unit keeps for its COMMIT.
type Kept interface {
	// MayRead reports whether a statement, in lower case, may read what is kept.
	MayRead(sql string) bool
	// Whole reports whether Queue can be called: nothing must be queried on conn, or checked, before
	// the COMMIT.
	Whole(conn *pgx.Conn) bool
	// Queue queues the statements that write it or fail. Done is called with their results and that of
	// COMMIT, and returns the error to report.
	Queue(ctx context.Context, conn *pgx.Conn, b *pgx.Batch) (done func(error) error, err error)
	// Write writes it in tx now.
	Write(ctx context.Context, tx pgx.Tx) error
	// Waits reports whether another transaction keeps the statements of Queue waiting.
	Waits(ctx context.Context, conn *pgx.Conn) bool
}

// Unit is the transaction. It never saves a round trip that could change what the function sees.
// Kept statements are written before a statement that could see them, or could end the transaction
// or a part of it. Once the function takes the connection, a savepoint or a COPY, the unit behaves
// like a transaction of pgx. Like every pgx.Tx it is not safe for concurrent use.
type Unit struct {
	conn   *pgx.Conn
	ctx    context.Context //nolint:containedctx // of the lender, for the methods of pgx.Tx that take none
	tx     pgx.Tx          // nil until it has begun
	joins  func() bool     // whether a first statement may travel with BEGIN; nil if it has begun
	lost   func(error) error
	plain  bool // no round trip is saved any more
	ended  bool
	failed error // of a method that cannot return it
	kept   []Kept
}

var _ pgx.Tx = (*Unit)(nil)

// errTakenAway ends a unit whose connection was requested and could not begin.
var errTakenAway = errors.New("leat: the transaction could not begin")

// New returns a Unit on conn, which must not be in a transaction. Joins reports whether a first statement
// may travel with BEGIN. Lost makes the error of a COMMIT that got no answer.
func New(ctx context.Context, conn *pgx.Conn, joins func() bool, lost func(error) error) *Unit {
	return &Unit{conn: conn, ctx: ctx, joins: joins, lost: lost}
}

// Begun returns the Unit of tx, which has begun on conn.
func Begun(ctx context.Context, conn *pgx.Conn, tx pgx.Tx, lost func(error) error) *Unit {
	return &Unit{conn: conn, ctx: ctx, tx: tx, lost: lost}
}

// Of returns the Unit that tx is, or embeds, or nil.
func Of(tx pgx.Tx) *Unit {
	if lent, ok := tx.(interface{ unit() *Unit }); ok {
		return lent.unit()
	}
	return nil
}

func (u *Unit) unit() *Unit { return u }

// ConnOf returns the connection of tx, only to look at it.
func ConnOf(tx pgx.Tx) *pgx.Conn {
	if u := Of(tx); u != nil {
		return u.conn
	}
	return tx.Conn()
}

// Undo rolls back unless the unit has ended.
func (u *Unit) Undo(ctx context.Context) {
	if !u.ended {
		_ = u.Rollback(ctx) // closes the connection if it fails
	}
}

// Unbegun reports whether the unit still begins with its first statement, unless it has Failed.
func (u *Unit) Unbegun() bool { return !u.ended && u.tx == nil }

// Failed returns why the unit takes no statements, or nil.
func (u *Unit) Failed() error { return u.failed }

// begin begins the transaction if it has not begun.
func (u *Unit) begin(ctx context.Context) (err error) {
	switch {
	case u.ended:
		return pgx.ErrTxClosed
	case u.failed != nil:
		return u.failed
	case u.tx == nil:
		u.tx, err = u.conn.BeginTx(ctx, pgx.TxOptions{})
	}
	return err
}

// Settle makes the unit an ordinary transaction: it has begun, kept statements are written, and
// nothing is kept from now on.
func (u *Unit) Settle(ctx context.Context) error {
	if err := u.begin(ctx); err != nil {
		return err
	}
	u.plain = true
	return u.flush(ctx)
}

// Takes reports whether the unit can keep work for its COMMIT.
func (u *Unit) Takes() bool {
	return !u.plain && !u.ended && u.failed == nil &&
		!u.conn.PgConn().IsBusy() && (u.tx == nil || u.conn.PgConn().TxStatus() == 'T')
}

// Keep keeps k for the COMMIT, if Takes is true.
func (u *Unit) Keep(k Kept) { u.kept = append(u.kept, k) }

// KeptFor returns the K that belongs to one and is kept by tx, or false.
func KeptFor[K Kept](tx pgx.Tx, one func(K) bool) (k K, ok bool) {
	if u := Of(tx); u != nil {
		for _, kept := range u.kept {
			if k, ok = kept.(K); ok && one(k) {
				return k, true
			}
		}
	}
	return k, false
}

// Keeps reports whether anything is kept.
func (u *Unit) Keeps() bool { return len(u.kept) > 0 }

// Waits returns a function that reports whether another transaction blocks the statements that are
// kept now, once Commit writes them. It is safe for concurrent use.
func (u *Unit) Waits() func(ctx context.Context) bool {
	kept := u.kept
	return func(ctx context.Context) bool {
		return slices.ContainsFunc(kept, func(k Kept) bool { return k.Waits(ctx, u.conn) })
	}
}

// flush writes the kept statements.
func (u *Unit) flush(ctx context.Context) error {
	if len(u.kept) == 0 {
		return nil
	}
	if err := u.begin(ctx); err != nil {
		return err
	}
	kept := u.kept
	u.kept = nil
	for _, k := range kept {
		if u.conn.PgConn().TxStatus() == 'E' {
			return nil // it can be rolled back only: a savepoint would have settled the unit
		}
		if err := k.Write(ctx, u.tx); err != nil {
			return err
		}
	}
	return nil
}

// before settles the unit if one of the statements could notice that something is kept.
func (u *Unit) before(ctx context.Context, statements ...string) error {
	if u.plain || !slices.ContainsFunc(statements, u.couldTell) {
		return nil
	}
	return u.Settle(ctx)
}

// couldTell reports whether sql may read what is kept, now or after more is kept, or end the
// transaction or a part of it. It errs on the side of yes.
func (u *Unit) couldTell(sql string) bool {
	if len(u.kept) > 0 {
		lower := strings.ToLower(sql)
		if slices.ContainsFunc(u.kept, func(k Kept) bool { return k.MayRead(lower) }) {
			return true
		}
	}
	ends, inCase := false, false
	for at := 0; at < len(sql); at++ {
		start := at
		for at < len(sql) && inWord(sql[at]) {
			at++
		}
		word := sql[start:at]
		if len(word) < 3 || len(word) > 11 {
			continue
		}
		switch {
		case slices.ContainsFunc(telling, func(w string) bool { return len(w) == len(word) && strings.EqualFold(w, word) }):
			return true
		case strings.EqualFold(word, "end"):
			ends = true
		case strings.EqualFold(word, "case"):
			inCase = true
		}
	}
	return ends && (!inCase || strings.Contains(sql, ";"))
}

// inWord reports whether c is part of a word. Letters beyond ASCII are not: they split a name into parts. A part may
// be taken for a word that ends the transaction, but no such word is missed.
func inWord(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_'
}

// telling are words of statements that end the transaction or a part of it, or that run a statement of their
// own later.
var telling = []string{"savepoint", "rollback", "release", "commit", "abort", "transaction", "prepare"} //nolint:gochecknoglobals // never changed
