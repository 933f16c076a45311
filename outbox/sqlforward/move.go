package sqlforward

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Report is the result of moving rows.
type Report struct {
	// Moved is the number of messages that were moved into the outbox, Malformed that of rows
	// that are not envelopes, or whose message the outbox does not accept.
	Moved, Malformed int
	// Missing is the number of gaps that each read looks into.
	Missing int
}

// RunOnce moves all rows, page by page, and returns. If another process is moving rows of the
// table, it leaves them to that process. After an error the report has what was moved before it.
func (f *Forwarder) RunOnce(ctx context.Context) (r Report, err error) {
	err = f.session(ctx, func(conn *sql.Conn) error {
		for {
			done, more, err := f.step(ctx, conn)
			r = Report{r.Moved + done.Moved, r.Malformed + done.Malformed, done.Missing}
			if err != nil || !more {
				return err
			}
		}
	})
	return r, err
}

// step moves a page. More is set if there may be more.
func (f *Forwarder) step(ctx context.Context, conn *sql.Conn) (r Report, more bool, err error) {
	dead, err := f.deadGaps(ctx, conn)
	if err != nil {
		return r, false, describe(err)
	}
	// One snapshot, whatever the session's isolation level: see read.
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return r, false, fmt.Errorf("leat: begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // has ended already if Commit was reached
	r, more, err = f.move(ctx, tx, dead)
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return Report{Missing: r.Missing}, false, describe(err)
	}
	if r.Moved > 0 {
		f.ob.Wake()
	}
	return r, more, nil
}

func (f *Forwarder) move(ctx context.Context, tx *sql.Tx, dead []gap) (r Report, more bool, err error) {
	at, now, err := f.position(ctx, tx, f.sql["position_lock"])
	if errors.Is(err, sql.ErrNoRows) {
		return r, false, nil // another process is doing it
	}
	if err != nil {
		return r, false, err
	}
	before := at
	if at.last < 0 {
		at, err = f.takeOver(ctx, tx, now)
	} else if !f.checked {
		err = f.keepOut(ctx, tx)
	}
	if err != nil {
		return r, false, err
	}
	f.checked = true
	if at, err = f.anew(ctx, tx, at); err != nil {
		return r, false, err
	}
	at = at.without(dead)
	p, err := f.read(ctx, tx, at)
	if err != nil {
		return r, false, err
	}
	if r.Malformed, err = f.enqueue(ctx, tx, p, now); err != nil {
		return r, false, err
	}
	if err := f.ack(ctx, tx, p); err != nil {
		return r, false, err
	}
	r.Moved = len(p.rows) - r.Malformed
	after := at.after(p.numbers(), now)
	r.Missing = len(after.gaps)
	if len(p.rows) == 0 && len(dead) == 0 && before.last == at.last {
		return r, false, nil
	}
	_, err = tx.ExecContext(ctx, f.sql["position_store"], after.last, encode(after.gaps), []byte(f.cfg.Table))
	if err == nil {
		err = f.mark(ctx, tx, p, after.last)
	}
	return r, p.full, err
}

// position returns the position and the database's clock. The error is sql.ErrNoRows if
// another process has locked it, or if there is none.
func (f *Forwarder) position(ctx context.Context, q querier, statement string) (at position, now int64, err error) {
	var last int64
	var gaps []byte
	if err := q.QueryRowContext(ctx, statement, []byte(f.cfg.Table)).Scan(&last, &gaps, &now); err != nil {
		return at, 0, err
	}
	at, err = parse(last, string(gaps))
	return at, now, err
}

// querier is a connection or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}
