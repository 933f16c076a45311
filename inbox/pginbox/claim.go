package pginbox

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/pgerr"
)

// claimTries bounds the claims of one delivery. A claim may have to be repeated because the
// connection looked in the wrong place, or because the range did not exist.
const claimTries = 4

// claims records the ids of one consumer.
type claims struct {
	consumer
	placer

	statements statements
}

// claimOn claims id on conn, which then belongs to the unit.
func (c *claims) claimOn(ctx context.Context, conn pgclaim.Conn, messageID string) (driver.Unit, driver.Status, error) {
	id := pgclaim.StoredID(messageID)
	unit, status, err := c.claimAt(ctx, conn, id)
	for try := 1; pgerr.Is(err, pgerr.CheckViolation) && try < claimTries; try++ {
		refusal := err
		err = conn.Use(func(conn *pgx.Conn) error { return c.moved(ctx, conn, id, refusal) })
		if err == nil {
			unit, status, err = c.claimAt(ctx, conn, id)
		}
	}
	return unit, status, err
}

// claimAt claims id in the place where conn expects it.
func (c *claims) claimAt(ctx context.Context, conn pgclaim.Conn, id pgtype.UUID) (driver.Unit, driver.Status, error) {
	number, at, err := c.find(ctx, conn, id)
	if err != nil {
		return nil, 0, err
	}
	unit, err := conn.Insert(ctx, c.statements.claim[at], at.args(number, id, c.Lock(id)), 1)
	switch {
	case err == nil:
		return unit, driver.Claimed, nil
	case errors.Is(err, sql.ErrNoRows), pgerr.Is(err, pgerr.SerializationFailure):
		// At repeatable read, a row that was committed after the claim's snapshot
		// and before its lock was tried is a conflict. It is a duplicate as well.
		status, err := c.lookUp(ctx, conn, at, number, id)
		return nil, status, err
	default:
		return nil, 0, pgclaim.Explain(errors.Join(err, conn.End(ctx)))
	}
}

// find returns the consumer's number, and where id is remembered.
func (c *claims) find(ctx context.Context, conn pgclaim.Conn, id pgtype.UUID) (number int16, at place, err error) {
	if conn, ok := conn.(*pgclaim.PgxConn); ok { // the code below allocates
		return c.findOn(ctx, conn.Conn, id)
	}
	return c.findUsing(ctx, conn, id)
}

func (c *claims) findUsing(ctx context.Context, conn pgclaim.Conn, id pgtype.UUID) (number int16, at place, err error) {
	err = conn.Use(func(conn *pgx.Conn) (err error) {
		number, at, err = c.findOn(ctx, conn, id)
		return err
	})
	return number, at, err
}

func (c *claims) findOn(ctx context.Context, conn *pgx.Conn, id pgtype.UUID) (number int16, at place, err error) {
	if number, err = c.number(ctx, conn); err == nil {
		at, err = c.place(ctx, conn, id)
	}
	return number, at, err
}

// ranged reports whether id is in a range, as far as conn knows.
func (c *claims) ranged(ctx context.Context, conn *pgx.Conn, id pgtype.UUID) (bool, error) {
	at, err := c.place(ctx, conn, id)
	return at != plain, err
}

// lookUp ends the transaction, if there is one, and asks in the same round trip whether the
// message was processed. If it was not, the claim failed because the commit would not be durable,
// or because the holder of the message's lock has not committed.
func (c *claims) lookUp(
	ctx context.Context, conn pgclaim.Conn, at place, number int16, id pgtype.UUID,
) (status driver.Status, err error) {
	look := c.lookInPlain
	if at != plain {
		look = c.lookInRange
	}
	err = conn.Use(func(conn *pgx.Conn) (err error) {
		if status, err = look(ctx, conn, number, id); err != nil {
			pgclaim.Rollback(ctx, conn)
		}
		return err
	})
	return status, pgclaim.Explain(err)
}

func (c *claims) lookInPlain(ctx context.Context, conn *pgx.Conn, number int16, id pgtype.UUID) (driver.Status, error) {
	var seen bool
	var setting string
	batch := &pgx.Batch{}
	if pgclaim.InTx(conn) {
		batch.Queue(`rollback`)
	}
	batch.Queue(c.statements.seen, number, id).QueryRow(func(row pgx.Row) error { return row.Scan(&seen, &setting) })
	err := conn.SendBatch(ctx, batch).Close()
	switch {
	case err != nil:
		return 0, err
	case seen:
		return driver.Duplicate, nil
	case setting == pgclaim.Async:
		return 0, pgclaim.ErrNotDurable
	default:
		return driver.Busy, nil
	}
}

// lookInRange also returns an error if the id is below the floor of an inbox that deletes.
func (c *claims) lookInRange(ctx context.Context, conn *pgx.Conn, number int16, id pgtype.UUID) (driver.Status, error) {
	statement := strings.NewReplacer("$1", strconv.Itoa(int(number)), "$2", "'"+ids.Text(id.Bytes)+"'").Replace(c.statements.seenInRange)
	if pgclaim.InTx(conn) {
		statement = "rollback;" + statement
	}
	results, err := conn.PgConn().Exec(ctx, statement).ReadAll()
	if err != nil {
		return 0, err
	}
	row := results[len(results)-1].Rows
	switch {
	case len(row) != 1 || len(row[0]) != 3:
		return 0, errors.New("leat: the inbox could not be read")
	case string(row[0][0]) == "t":
		return driver.Duplicate, nil
	case string(row[0][1]) == "t":
		return 0, inbox.Permanent(driver.ErrTooOld)
	case string(row[0][2]) == pgclaim.Async:
		return 0, pgclaim.ErrNotDurable
	default:
		return driver.Busy, nil
	}
}
