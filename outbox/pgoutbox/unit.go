package pgoutbox

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/pgunit"
	"github.com/leat-go/leat/outbox"
)

const (
	// maxWaiting and maxWaitingBytes bound the messages that a transaction keeps for its COMMIT.
	maxWaiting      = 1000
	maxWaitingBytes = 1 << 20
)

// discard closes a connection that takes no writes, such as one to a primary that was demoted:
// its pool would reuse it, and sooner than others.
func discard(ctx context.Context, conn *pgx.Conn, err error) {
	if pgerr.Unfit(err) {
		_ = conn.Close(ctx) // err is the one to report
	}
}

// inUnit runs fn in a transaction of the outbox's pool, and commits it.
func (o *Outbox) inUnit(ctx context.Context, fn func(tx pgx.Tx) error) error {
	return o.pool.Use(ctx, func(conn *pgx.Conn) (err error) {
		defer func() { discard(ctx, conn, err) }()
		u := pgunit.New(ctx, conn, func() bool { return o.joins(conn) }, unknownCommit)
		defer u.Undo(ctx)
		if err := fn(u); err != nil {
			return err
		}
		return end(ctx, conn, u)
	})
}

// joins reports whether a statement may be sent together with BEGIN on conn.
func (o *Outbox) joins(conn *pgx.Conn) bool {
	known, _ := conn.PgConn().CustomData()[o.noteKey].(*keyLocks)
	return known != nil && !known.simple
}

// end commits what a function has left. It records itself whether COMMIT was sent:
// pgconn.SafeToRetry is also true if the answer was lost (pgx 5.12).
func end(ctx context.Context, conn *pgx.Conn, u *pgunit.Unit) error {
	if !conn.IsClosed() && conn.PgConn().IsBusy() {
		return errOpenRows
	}
	if err := ctx.Err(); err != nil && u.Keeps() {
		return err
	}
	if err := u.FlushUnlessWhole(ctx); err != nil {
		return err
	}
	sent := u.Sends(ctx)
	err := u.Commit(ctx)
	if err == nil || !sent {
		return err
	}
	return commitError(err)
}

// waiting are messages of an outbox that wait for the COMMIT of a transaction.
type waiting struct {
	box   *Outbox
	msgs  []outbox.Message
	bytes int
}

var _ pgunit.Kept = (*waiting)(nil)

// wait keeps msgs, which are prepared, for the COMMIT of tx, and reports whether it could. The
// caller may reuse what they refer to. It keeps nothing for a database other than the outbox's:
// that is refused at once.
func (o *Outbox) wait(ctx context.Context, tx pgx.Tx, msgs []outbox.Message) (kept bool, err error) {
	u := pgunit.Of(tx)
	if u == nil || o.cfg.InsertAtOnce || !u.Takes() || !o.knows(pgunit.ConnOf(tx)) {
		return false, nil
	}
	w, found := pgunit.KeptFor(tx, func(w *waiting) bool { return w.box == o })
	if !found {
		w = &waiting{box: o}
	}
	bytes := w.bytes
	for i := range msgs {
		bytes += len(msgs[i].Payload)
	}
	if len(w.msgs)+len(msgs) > min(maxWaiting, o.cfg.MaxKeyLocks) || bytes > maxWaitingBytes {
		return false, u.Settle(ctx)
	}
	for i := range msgs {
		msgs[i].Payload, msgs[i].Headers = slices.Clone(msgs[i].Payload), maps.Clone(msgs[i].Headers)
	}
	w.msgs, w.bytes = append(w.msgs, msgs...), bytes
	if !found {
		u.Keep(w)
	}
	return true, nil
}

// MayRead implements pgunit.Kept.
func (w *waiting) MayRead(sql string) bool {
	return strings.Contains(sql, strings.ToLower(w.box.cfg.Table))
}

// Whole implements pgunit.Kept: one statement inserts the messages, on a connection that needs no
// further check.
func (w *waiting) Whole(conn *pgx.Conn) bool {
	return w.box.knows(conn) && !slices.ContainsFunc(w.msgs, delayed)
}

// Write implements pgunit.Kept.
func (w *waiting) Write(ctx context.Context, tx pgx.Tx) error {
	began := time.Now()
	err := w.box.insertIn(ctx, tx, w.msgs)
	w.box.observe(ctx, outbox.EnqueueEvent{Messages: w.msgs, Took: time.Since(began), Err: err})
	return err
}

// Queue implements pgunit.Kept.
func (w *waiting) Queue(ctx context.Context, conn *pgx.Conn, b *pgx.Batch) (done func(error) error, err error) {
	o, began, self := w.box, time.Now(), conn.PgConn().PID()
	stop := o.watch(ctx, w.msgs, self)
	done = func(err error) error {
		stop()
		switch {
		case err == nil, errors.Is(err, outbox.ErrCommitUnknown):
		case isSuppressed(err):
			err = o.suppressed(err)
		default:
			err = o.explainWait(ctx, describe(err), w.msgs, self)
		}
		o.observe(ctx, outbox.EnqueueEvent{Messages: w.msgs, Took: time.Since(began), Err: err})
		return err
	}
	if err := failpoint.Inject(ctx, failpoint.ProducerBeforeInsert); err != nil {
		return done, err
	}
	locks, shared := o.locks(w.msgs)
	sql, args, err := o.wholeStatement(w.msgs, locks, shared)
	if err != nil {
		return done, err
	}
	b.Queue(sql, args...)
	return done, failpoint.Inject(ctx, failpoint.ProducerAfterInsert)
}

// Waits implements pgunit.Kept.
func (w *waiting) Waits(ctx context.Context, conn *pgx.Conn) bool {
	_, found := w.box.whoHas(ctx, w.msgs, conn.PgConn().PID())
	return found
}
