package pginbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/keyhash"
)

// number returns the number that the consumer's name is stored as, registering
// it the first time. The connection remembers it, rather than the process: after
// a failover to a standby that the registration had not reached, the number may
// be given to another consumer, and the connections are new.
func (k keys) number(ctx context.Context, conn *pgx.Conn) (int16, error) {
	memory, name := conn.PgConn().CustomData(), "leat.inbox "+k.table+" "+k.consumer
	if number, ok := memory[name].(int16); ok {
		return number, nil
	}
	if err := k.visible(ctx, conn); err != nil {
		return 0, explain(err)
	}
	number, err := k.find(ctx, conn)
	if errors.Is(err, pgx.ErrNoRows) {
		number, err = k.enrol(ctx, conn)
	}
	if err == nil {
		err = k.alone(ctx, conn, number)
	}
	if err != nil {
		return 0, explain(err)
	}
	memory[name] = number
	return number, nil
}

// known returns the number of a consumer that has one, and registers none: whoever
// looks may have misspelt it, and may lack the privilege.
func (k keys) known(ctx context.Context, conn *pgx.Conn) (int16, error) {
	number, err := k.find(ctx, conn)
	if errors.Is(err, pgx.ErrNoRows) {
		err = fmt.Errorf("%w: %q in %s", ErrUnknownConsumer, k.consumer, k.table)
	}
	return number, explain(err)
}

func (k keys) find(ctx context.Context, q interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
},
) (number int16, err error) {
	err = q.QueryRow(ctx, k.lookup, k.consumer).Scan(&number)
	return number, err
}

// enrol gives the consumer a number. Lock, then look: the look is a statement of
// its own, and takes its snapshot when the lock is ours.
func (k keys) enrol(ctx context.Context, conn *pgx.Conn) (number int16, err error) {
	mode := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
	err = pgx.BeginTxFunc(ctx, conn, mode, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, keyhash.Lock("inbox consumers", k.table)); err != nil {
			return err
		}
		number, err = k.find(ctx, tx)
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		return tx.QueryRow(ctx, k.register, k.consumer).Scan(&number)
	})
	return number, err
}
