package pgoutbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/outbox"
)

const (
	// maxWaiting and maxWaitingBytes bound what a unit keeps for its COMMIT.
	maxWaiting      = 1000
	maxWaitingBytes = 1 << 20
	// answerTimeout bounds the wait for the answer to a COMMIT whose caller has gone.
	answerTimeout = 5 * time.Second
)

// unit is the transaction that InTx lends. It spares round trips: BEGIN travels with the first
// statement, and what was enqueued with COMMIT. What this could change for the caller is not
// spared: before a statement that could see the messages, or end the transaction or a part of it,
// they are inserted, and whoever takes the connection, a savepoint or a COPY has a transaction as
// that of pgx from then on. Like every pgx.Tx it is not safe for concurrent use.
// See design 3.9.
type unit struct {
	box     *Outbox
	conn    *pgx.Conn
	ctx     context.Context //nolint:containedctx // of InTx, for the methods of pgx.Tx that take none
	tx      pgx.Tx          // nil until it has begun
	plain   bool            // nothing is spared any more
	ended   bool
	failed  error // of a method that cannot return it
	waiting []outbox.Message
	bytes   int
}

var _ pgx.Tx = (*unit)(nil)

// errTakenAway ends a unit whose connection was asked for and could not begin.
var errTakenAway = errors.New("leat: the transaction could not begin")

// inUnit runs fn in a transaction of the outbox's pool, and commits it.
func (o *Outbox) inUnit(ctx context.Context, fn func(tx pgx.Tx) error) error {
	return o.pool.Use(ctx, func(conn *pgx.Conn) (err error) {
		u := &unit{box: o, conn: conn, ctx: ctx}
		defer u.undo(ctx)
		if err := fn(u); err != nil {
			return err
		}
		return u.end(ctx)
	})
}

// undo rolls back unless the unit has ended.
func (u *unit) undo(ctx context.Context) {
	if !u.ended {
		_ = u.Rollback(ctx) // closes the connection if it fails
	}
}

// begin begins the transaction if it has not begun.
func (u *unit) begin(ctx context.Context) (err error) {
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

// settle makes the unit a transaction as any other: it has begun, what waits is inserted, and
// what is enqueued from now on is inserted at once.
func (u *unit) settle(ctx context.Context) error {
	if err := u.begin(ctx); err != nil {
		return err
	}
	u.plain = true
	return u.flush(ctx)
}

// connOf returns the connection of tx, only to look at it.
func connOf(tx pgx.Tx) *pgx.Conn {
	if u, ok := tx.(*unit); ok {
		return u.conn
	}
	return tx.Conn()
}

// takes reports whether the unit keeps what is enqueued for its COMMIT.
func (u *unit) takes() bool {
	return !u.plain && !u.ended && u.failed == nil && !u.box.cfg.InsertAtOnce &&
		!u.conn.PgConn().IsBusy() && (u.tx == nil || u.conn.PgConn().TxStatus() == 'T')
}

// enqueue keeps msgs, which are prepared, for COMMIT. What they refer to is the caller's to use again.
func (u *unit) enqueue(ctx context.Context, msgs []outbox.Message) error {
	for i := range msgs {
		u.bytes += len(msgs[i].Payload)
	}
	if len(u.waiting)+len(msgs) > min(maxWaiting, u.box.cfg.MaxKeyLocks) || u.bytes > maxWaitingBytes {
		if err := u.settle(ctx); err != nil {
			return err
		}
		return u.insert(ctx, msgs)
	}
	for i := range msgs {
		msgs[i].Payload, msgs[i].Headers = slices.Clone(msgs[i].Payload), maps.Clone(msgs[i].Headers)
	}
	u.waiting = append(u.waiting, msgs...)
	return nil
}

// flush inserts what waits.
func (u *unit) flush(ctx context.Context) error {
	if len(u.waiting) == 0 {
		return nil
	}
	if err := u.begin(ctx); err != nil {
		return err
	}
	msgs := u.waiting
	u.waiting, u.bytes = nil, 0
	if u.conn.PgConn().TxStatus() == 'E' {
		return nil // it can be rolled back only: a savepoint would have settled the unit
	}
	return u.insert(ctx, msgs)
}

// insert inserts msgs in the transaction, which has begun.
func (u *unit) insert(ctx context.Context, msgs []outbox.Message) error {
	began := time.Now()
	err := u.box.insertIn(ctx, u.tx, msgs)
	u.box.observe(ctx, outbox.EnqueueEvent{Messages: msgs, Took: time.Since(began), Err: err})
	return err
}

// before settles the unit if one of the statements could tell.
func (u *unit) before(ctx context.Context, statements ...string) error {
	if u.plain || !slices.ContainsFunc(statements, u.couldTell) {
		return nil
	}
	return u.settle(ctx)
}

// couldTell reports whether sql may read the outbox, or end the transaction or a part of it. It
// errs on the side of yes.
func (u *unit) couldTell(sql string) bool {
	sql = strings.ToLower(sql)
	if strings.Contains(sql, strings.ToLower(u.box.cfg.Table)) {
		return true
	}
	ends, inCase := false, false
	for word := range strings.FieldsFuncSeq(sql, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		switch word {
		case "savepoint", "rollback", "release", "commit", "abort", "transaction":
			return true
		case "end":
			ends = true
		case "case":
			inCase = true
		}
	}
	return ends && !inCase
}

// Exec implements pgx.Tx.
func (u *unit) Exec(ctx context.Context, sql string, args ...any) (tag pgconn.CommandTag, err error) {
	if err := u.before(ctx, sql); err != nil {
		return tag, err
	}
	// Without arguments, several statements may be in one text.
	if u.tx == nil && u.travels(args) && (len(args) > 0 || !strings.Contains(sql, ";")) {
		first, err := u.sendFirst(ctx, sql, args)
		if err != nil {
			return tag, err
		}
		if first != nil {
			tag, err = first.Exec()
			return tag, closeAfter(first, err)
		}
	}
	if err := u.begin(ctx); err != nil {
		return tag, err
	}
	return u.tx.Exec(ctx, sql, args...)
}

// travels reports whether a first statement with args can travel with BEGIN.
func (u *unit) travels(args []any) bool {
	conn := u.conn.PgConn()
	known, _ := conn.CustomData()[u.box.noteKey].(*keyLocks)
	if u.plain || u.ended || u.failed != nil || conn.IsBusy() || known == nil || known.simple {
		return false
	}
	if len(args) == 0 {
		return true
	}
	switch args[0].(type) { // options that a batch does not take
	case pgx.QueryExecMode, pgx.QueryResultFormats, pgx.QueryResultFormatsByOID:
		return false
	default:
		return true
	}
}

// sendFirst sends BEGIN with sql, and returns the results that follow BEGIN's. They are nil if
// nothing has begun.
func (u *unit) sendFirst(ctx context.Context, sql string, args []any) (pgx.BatchResults, error) {
	var b pgx.Batch
	b.BeginTx(pgx.TxOptions{})
	b.Queue(sql, args...)
	results := u.conn.SendBatch(ctx, &b)
	if _, err := results.Exec(); err != nil {
		_ = results.Close() // its error is this one
		if u.untouched() {
			err = nil
		}
		return nil, err
	}
	u.tx = results.Tx()
	return results, nil
}

// untouched reports whether a batch has left the connection as it was: the statement could not be
// prepared or encoded, and is run again behind a BEGIN of its own, which has the usual effects.
func (u *unit) untouched() bool {
	return !u.conn.IsClosed() && u.conn.PgConn().TxStatus() == 'I'
}

// closeAfter closes results, and returns err, or else the error of Close, which may repeat it.
func closeAfter(results pgx.BatchResults, err error) error {
	if closing := results.Close(); err == nil {
		return closing
	}
	return err
}

// Query implements pgx.Tx.
func (u *unit) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := u.before(ctx, sql); err != nil {
		return noRows{err: err}, err
	}
	if u.tx == nil && u.travels(args) {
		rows, err := u.queryFirst(ctx, sql, args)
		if rows != nil || err != nil {
			return rows, err
		}
	}
	if err := u.begin(ctx); err != nil {
		return noRows{err: err}, err
	}
	return u.tx.Query(ctx, sql, args...)
}

// queryFirst is Query for a statement that travels with BEGIN. It returns nothing if nothing has
// begun.
func (u *unit) queryFirst(ctx context.Context, sql string, args []any) (pgx.Rows, error) {
	first, err := u.sendFirst(ctx, sql, args)
	if err != nil {
		return noRows{err: err}, err
	}
	if first == nil {
		return nil, nil //nolint:nilnil // nothing has begun
	}
	rows, err := first.Query()
	if err != nil {
		_ = first.Close() // its error is this one
		return noRows{err: err}, err
	}
	return &firstRows{Rows: rows, first: first}, nil
}

// QueryRow implements pgx.Tx.
func (u *unit) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, err := u.Query(ctx, sql, args...)
	return onlyRow{rows, err}
}

// SendBatch implements pgx.Tx.
func (u *unit) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	texts := make([]string, 0, b.Len())
	for _, q := range b.QueuedQueries {
		texts = append(texts, q.SQL)
	}
	err := u.before(ctx, texts...)
	if err == nil {
		err = u.begin(ctx)
	}
	if err != nil {
		return pgx.FailedBatchResults(b, err)
	}
	return u.tx.SendBatch(ctx, b)
}

// Begin implements pgx.Tx.
func (u *unit) Begin(ctx context.Context) (pgx.Tx, error) {
	if err := u.settle(ctx); err != nil {
		return nil, err
	}
	return u.tx.Begin(ctx)
}

// CopyFrom implements pgx.Tx.
func (u *unit) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	if err := u.settle(ctx); err != nil {
		return 0, err
	}
	return u.tx.CopyFrom(ctx, table, columns, rows)
}

// Prepare implements pgx.Tx.
func (u *unit) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	if err := u.settle(ctx); err != nil {
		return nil, err
	}
	return u.tx.Prepare(ctx, name, sql)
}

// LargeObjects implements pgx.Tx.
func (u *unit) LargeObjects() pgx.LargeObjects {
	if !u.ended {
		u.settleOrClose()
	}
	if u.tx == nil {
		return closedTx().LargeObjects()
	}
	return u.tx.LargeObjects()
}

// closedTx returns a transaction that has ended.
func closedTx() pgx.Tx {
	var never pgx.Batch
	never.BeginTx(pgx.TxOptions{})
	return pgx.FailedBatchResults(&never, pgx.ErrTxClosed).Tx()
}

// Conn implements pgx.Tx.
func (u *unit) Conn() *pgx.Conn {
	if !u.ended {
		u.settleOrClose()
	}
	return u.conn
}

// settleOrClose is settle for those who cannot return its error: nothing may run on the connection
// outside of a transaction then.
func (u *unit) settleOrClose() {
	if u.plain {
		return
	}
	err := u.settle(u.ctx)
	if err == nil {
		return
	}
	u.failed = fmt.Errorf("%w: %w", errTakenAway, err)
	if u.conn.PgConn().IsBusy() {
		return // nothing can run on it
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(u.ctx), answerTimeout)
	defer cancel()
	_ = u.conn.Close(ctx)
}

// Rollback implements pgx.Tx.
func (u *unit) Rollback(ctx context.Context) error {
	if u.ended {
		return pgx.ErrTxClosed
	}
	u.ended, u.waiting = true, nil
	if u.tx == nil {
		return nil
	}
	return u.tx.Rollback(ctx)
}

// Commit implements pgx.Tx.
func (u *unit) Commit(ctx context.Context) error {
	if u.ended {
		return pgx.ErrTxClosed
	}
	if u.failed != nil {
		return u.failed
	}
	if u.conn.PgConn().IsBusy() {
		u.waiting = nil // COMMIT fails
	}
	if err := u.flushUnlessWhole(ctx); err != nil {
		return err
	}
	switch {
	case len(u.waiting) > 0:
		return u.commitWith(ctx)
	case u.tx == nil:
		u.ended = true
		return nil
	default:
		u.ended = true
		return u.tx.Commit(ctx)
	}
}

// end commits what fn has left. Whether COMMIT was sent is looked at before: pgconn.SafeToRetry is
// also true of an answer that was lost (pgx 5.12).
func (u *unit) end(ctx context.Context) error {
	if !u.conn.IsClosed() && u.conn.PgConn().IsBusy() {
		return errOpenRows
	}
	if err := ctx.Err(); err != nil && len(u.waiting) > 0 {
		return err
	}
	if err := u.flushUnlessWhole(ctx); err != nil {
		return err
	}
	sent := u.tx != nil && ctx.Err() == nil && !u.conn.IsClosed() && len(u.waiting) == 0
	err := u.Commit(ctx)
	if err == nil || !sent {
		return err
	}
	return commitError(err)
}

// flushUnlessWhole inserts what waits, unless it may go with COMMIT.
func (u *unit) flushUnlessWhole(ctx context.Context) error {
	if len(u.waiting) == 0 || u.mayGoWithCommit() {
		return nil
	}
	return u.flush(ctx)
}

// mayGoWithCommit reports whether one statement inserts what waits, in a transaction that is in
// order, on a connection that needs no further look.
func (u *unit) mayGoWithCommit() bool {
	conn := u.conn.PgConn()
	inOrder := u.tx == nil && conn.TxStatus() == 'I' || u.tx != nil && conn.TxStatus() == 'T'
	return !conn.IsClosed() && inOrder && u.box.knows(u.conn) &&
		!slices.ContainsFunc(u.waiting, func(m outbox.Message) bool { return !m.NotBefore.IsZero() })
}

// commitWith inserts what waits and commits, in one round trip.
func (u *unit) commitWith(ctx context.Context) (err error) {
	o, msgs := u.box, u.waiting
	u.waiting = nil
	began := time.Now()
	defer func() { o.observe(ctx, outbox.EnqueueEvent{Messages: msgs, Took: time.Since(began), Err: err}) }()
	if err := failpoint.Inject(ctx, failpoint.ProducerBeforeInsert); err != nil {
		return err
	}
	locks, shared := o.locks(msgs)
	sql, args, err := o.wholeStatement(msgs, locks, shared)
	if err != nil {
		return err
	}
	if err := failpoint.Inject(ctx, failpoint.ProducerAfterInsert); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	self := u.conn.PgConn().PID()
	defer o.watch(ctx, msgs, self)()
	var b pgx.Batch
	b.Queue(sql, args...)
	if u.tx != nil {
		b.Queue("commit")
	}
	tag, err := u.answer(ctx, &b)
	if u.untouched() { // it has ended, and pgx's transaction does not know
		u.ended, u.tx = true, closedTx()
	}
	switch {
	case err == nil && tag.String() == "ROLLBACK":
		return pgx.ErrTxCommitRollback
	case err == nil:
		return nil
	case isSuppressed(err):
		return o.suppressed(err)
	case u.ended || isAnswer(err):
		if gone := ctx.Err(); gone != nil {
			err = fmt.Errorf("%w: %w", gone, err)
		}
		return o.explainWait(ctx, describe(err), msgs, self)
	default:
		u.ended = true
		return unknownCommit(err)
	}
}

// isAnswer reports whether err is the server's word that it has not committed.
func isAnswer(err error) bool {
	answer, answered := errors.AsType[*pgconn.PgError](err)
	return answered && pgerr.Refused(answer.SeverityUnlocalized, answer.Code)
}

// answer sends b and waits for its answer. If ctx ends meanwhile, the server is asked to cancel,
// and its answer still counts: a connection that is closed instead could commit later, when the
// key that it waits for is free.
func (u *unit) answer(ctx context.Context, b *pgx.Batch) (tag pgconn.CommandTag, err error) {
	if ctx.Done() == nil {
		return u.send(ctx, b)
	}
	waits, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	answered, cancelled := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(cancelled)
		bounded, cancel := context.WithTimeout(waits, answerTimeout)
		defer cancel()
		_ = u.conn.PgConn().CancelRequest(bounded) // unless it reaches the server, the wait is bounded
		select {
		case <-answered:
		case <-bounded.Done():
			giveUp()
		}
	})
	tag, err = u.send(waits, b)
	close(answered)
	if !stop() {
		<-cancelled
		// The request may arrive only now, and would end somebody else's statement.
		if !pgerr.Is(err, pgerr.QueryCanceled) && !u.conn.IsClosed() {
			bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
			defer cancel()
			_ = u.conn.Close(bounded)
		}
	}
	return tag, err
}

// send sends b, and returns the tag of its last statement.
func (u *unit) send(ctx context.Context, b *pgx.Batch) (tag pgconn.CommandTag, err error) {
	results := u.conn.SendBatch(ctx, b)
	for range b.Len() {
		if tag, err = results.Exec(); err != nil {
			break
		}
	}
	return tag, closeAfter(results, err)
}
