package pginbox_test

import (
	"context"
	"errors"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/txctx"
)

// txUnit ends a transaction as it should be.
type txUnit struct{ tx pgx.Tx }

func (u txUnit) Context(ctx context.Context) context.Context { return txctx.With(ctx, u.tx) }
func (u txUnit) Commit(ctx context.Context) error            { return u.tx.Commit(ctx) }
func (u txUnit) Rollback(ctx context.Context) error          { return u.tx.Rollback(ctx) }

// claimAsWeDo is the statement of the inbox.
func claimAsWeDo(ctx context.Context, s *forbidden, tx pgx.Tx, id string) (driver.Status, driver.Unit, error) {
	tag, err := tx.Exec(ctx, `INSERT INTO `+s.table()+` SELECT 1, md5($1)::uuid
		WHERE pg_try_advisory_xact_lock(hashtextextended($2 || $1, 0)) ON CONFLICT DO NOTHING`, id, s.schema)
	if err != nil || tag.RowsAffected() == 1 {
		return driver.Claimed, nil, err
	}
	return look(ctx, s, tx, id)
}

func look(ctx context.Context, s *forbidden, tx pgx.Tx, id string) (driver.Status, driver.Unit, error) {
	var seen bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM `+s.table()+` WHERE id = md5($1)::uuid)`, id).Scan(&seen)
	if seen {
		return driver.Duplicate, nil, err
	}
	return driver.Busy, nil, err
}

// markFirst records the message before the handler runs, as Watermill's
// Deduplicator does.
func markFirst(ctx context.Context, s *forbidden, _ pgx.Tx, id string) (driver.Status, driver.Unit, error) {
	tag, err := s.env.Pool.Exec(ctx, `INSERT INTO `+s.table()+` SELECT 1, md5($1)::uuid ON CONFLICT DO NOTHING`, id)
	if tag.RowsAffected() == 0 {
		return driver.Duplicate, nil, err
	}
	return driver.Claimed, nil, err
}

// lookThenInsert records the message after the handler, unless it is there.
func lookThenInsert(ctx context.Context, s *forbidden, tx pgx.Tx, id string) (driver.Status, driver.Unit, error) {
	status, _, err := look(ctx, s, tx, id)
	if status == driver.Duplicate {
		return status, nil, err
	}
	return driver.Claimed, insertLast{txUnit{tx}, s, id}, err
}

type insertLast struct {
	txUnit

	s  *forbidden
	id string
}

func (u insertLast) Commit(ctx context.Context) error {
	_, err := u.tx.Exec(ctx, `INSERT INTO `+u.s.table()+` SELECT 1, md5($1)::uuid ON CONFLICT DO NOTHING`, u.id)
	return errors.Join(err, u.tx.Commit(ctx))
}

// twoStatements pipelines the lock and the INSERT, which runs although the lock
// was refused.
func twoStatements(ctx context.Context, s *forbidden, tx pgx.Tx, id string) (driver.Status, driver.Unit, error) {
	var locked bool
	batch := &pgx.Batch{}
	batch.Queue(`SELECT pg_try_advisory_xact_lock(hashtextextended($2 || $1, 0))`, id, s.schema).
		QueryRow(func(row pgx.Row) error { return row.Scan(&locked) })
	batch.Queue(`INSERT INTO `+s.table()+` SELECT 1, md5($1)::uuid ON CONFLICT DO NOTHING`, id)
	if err := tx.SendBatch(ctx, batch).Close(); err != nil || locked {
		return driver.Claimed, nil, err
	}
	return look(ctx, s, tx, id)
}

// insertAlone waits at the row of another transaction.
func insertAlone(ctx context.Context, s *forbidden, tx pgx.Tx, id string) (driver.Status, driver.Unit, error) {
	tag, err := tx.Exec(ctx, `INSERT INTO `+s.table()+` SELECT 1, md5($1)::uuid ON CONFLICT DO NOTHING`, id)
	if err == nil && tag.RowsAffected() == 0 {
		return driver.Duplicate, nil, nil
	}
	return driver.Claimed, nil, err
}

func busyIsDuplicate(ctx context.Context, s *forbidden, tx pgx.Tx, id string) (driver.Status, driver.Unit, error) {
	status, u, err := claimAsWeDo(ctx, s, tx, id)
	if status == driver.Busy {
		status = driver.Duplicate
	}
	return status, u, err
}

// waitWithConnection waits for the winner while it holds a connection.
func waitWithConnection(ctx context.Context, s *forbidden, tx pgx.Tx, id string) (driver.Status, driver.Unit, error) {
	status, u, err := claimAsWeDo(ctx, s, tx, id)
	if status == driver.Busy {
		timer := time.NewTimer(time.Minute)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return status, u, err
}

// twoTransactions gives the handler a transaction of its own, and commits that
// of the record first.
func twoTransactions(ctx context.Context, s *forbidden, tx pgx.Tx, id string) (driver.Status, driver.Unit, error) {
	status, u, err := claimAsWeDo(ctx, s, tx, id)
	if err != nil || status != driver.Claimed {
		return status, u, err
	}
	effects, err := s.env.Pool.Begin(ctx)
	return status, pair{txUnit: txUnit{effects}, record: tx}, err
}

type pair struct {
	txUnit

	record pgx.Tx
}

func (u pair) Commit(ctx context.Context) error {
	return errors.Join(u.tx.Commit(ctx), u.record.Commit(ctx))
}

func (u pair) Rollback(ctx context.Context) error {
	return errors.Join(u.tx.Rollback(ctx), u.record.Rollback(ctx))
}

// ackFirst is a processor that acks when the handler has succeeded.
type ackFirst struct{ store driver.Store }

func (p ackFirst) Process(
	ctx context.Context, msg *message.Message, handle func(ctx context.Context) error,
) (inbox.Outcome, error) {
	u, status, err := p.store.Claim(ctx, msg.UUID)
	switch {
	case err != nil:
		return inbox.OutcomeFailed, err
	case status == driver.Duplicate:
		return inbox.OutcomeDuplicate, nil
	case status == driver.Busy:
		return inbox.OutcomeBusy, inbox.ErrBusy
	}
	if err := handle(u.Context(ctx)); err != nil {
		return inbox.OutcomeFailed, errors.Join(err, u.Rollback(ctx))
	}
	msg.Ack()
	return inbox.OutcomeCommitted, u.Commit(ctx)
}

// emptyID makes an id up where there is none.
type emptyID struct{ *inbox.Processor }

func (p emptyID) Process(
	ctx context.Context, msg *message.Message, handle func(ctx context.Context) error,
) (inbox.Outcome, error) {
	if msg.UUID == "" {
		msg = message.NewMessageWithContext(ctx, "none", nil)
	}
	return p.Processor.Process(ctx, msg, handle)
}
