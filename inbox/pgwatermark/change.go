package pgwatermark

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/internal/pgclaim"
)

// change runs fn in a transaction, one at a time of those of the consumer.
func (in *Inbox) change(ctx context.Context, fn func(ctx context.Context, tx pgx.Tx, number int16) error) error {
	return in.db.Use(ctx, func(conn *pgx.Conn) error {
		number, err := in.number(ctx, conn)
		if err != nil {
			return err
		}
		// Lock, then look: at this level each statement sees what the lock has waited for.
		mode := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
		return pgclaim.Explain(pgx.BeginTxFunc(ctx, conn, mode, func(tx pgx.Tx) error {
			var setting string
			if err := tx.QueryRow(ctx, in.statements.begin, in.ordered()).Scan(&setting); err != nil {
				return err
			}
			if setting == pgclaim.Async {
				return ErrNotDurable
			}
			return fn(ctx, tx, number)
		}))
	})
}

func (in *Inbox) wrap(what string, err error) error {
	return fmt.Errorf("leat: consumer %s: %s: %w", in.Consumer(), what, err)
}

// partitionName names a partition for operators.
func partitionName(topic string, partition int32) string {
	return fmt.Sprintf("partition %d of topic %.200q", partition, topic)
}
