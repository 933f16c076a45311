package pgwatermark

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/outbox"
)

// SetWatermark implements admin.Watermarks.
func (a *operators) SetWatermark(ctx context.Context, r admin.SetWatermarkRequest) (previous int64, err error) {
	err = admin.Complete(&r)
	if err != nil {
		return 0, wrap(r.Consumer, "set_watermark", err)
	}
	return a.rewrite(ctx, rewriting{
		consumer: r.Consumer, dryRun: r.DryRun, partition: r.TopicPartition,
		action: "set_watermark", by: r.By, details: []slog.Attr{slog.Int64("next", r.Next)},
		check: func(known []knownSource, _ int64) error { return ofTopic(known, r.Source, r.Topic) },
		do: func(k keys, tx pgx.Tx, number int16, source pgtype.UUID) error {
			_, err := tx.Exec(ctx, k.statements.set, number, source, r.Partition, r.Next)
			return err
		},
	})
}

// RemoveWatermark implements admin.Watermarks.
func (a *operators) RemoveWatermark(ctx context.Context, r admin.RemoveWatermarkRequest) (previous int64, err error) {
	err = admin.Complete(&r)
	if err != nil {
		return 0, wrap(r.Consumer, "remove_watermark", err)
	}
	return a.rewrite(ctx, rewriting{
		consumer: r.Consumer, dryRun: r.DryRun, partition: r.TopicPartition,
		action: "remove_watermark", by: r.By,
		check: func(_ []knownSource, previous int64) error {
			if previous < 0 {
				return fmt.Errorf("%w: nothing is remembered of %s", admin.ErrInvalidRequest, r.TopicPartition)
			}
			return nil
		},
		do: func(k keys, tx pgx.Tx, number int16, source pgtype.UUID) error {
			_, err := tx.Exec(ctx, k.statements.remove, number, source, r.Partition)
			if err == nil {
				_, err = tx.Exec(ctx, k.statements.forget, number, source)
			}
			return err
		},
	})
}

// rewriting is a change of one watermark.
type rewriting struct {
	consumer  string
	dryRun    bool
	partition admin.TopicPartition

	action  string
	by      admin.By
	details []slog.Attr

	// check refuses the change.
	check func(known []knownSource, previous int64) error
	// do makes the change.
	do func(k keys, tx pgx.Tx, number int16, source pgtype.UUID) error
}

// rewrite changes a watermark while no handler runs for its partition, and returns the previous
// offset, or -1.
func (a *operators) rewrite(ctx context.Context, r rewriting) (previous int64, err error) {
	p := r.partition
	source, err := storedSource(p.Topic, p.Source, p.Partition)
	if err != nil {
		return 0, wrap(r.consumer, r.action, fmt.Errorf("%w: %w", admin.ErrInvalidRequest, err))
	}
	e := entry{action: r.action, by: r.by, topic: p.Topic}
	look := func(k keys, q querier, number int16) error {
		known, err := k.knownSources(ctx, q, number)
		if err == nil {
			previous, err = k.next(ctx, q, number, source, p)
		}
		if err == nil {
			err = r.check(known, previous)
		}
		return err
	}
	err = a.run(ctx, r.consumer, r.dryRun, look, func(k keys, tx pgx.Tx, number int16) error {
		var free bool
		if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, k.lockOf(source, p.Partition)).Scan(&free); err != nil {
			return err
		}
		if !free {
			return fmt.Errorf("%w: %s", inbox.ErrBusy, p)
		}
		if err := look(k, tx, number); err != nil {
			return err
		}
		e.details = append([]slog.Attr{
			slog.String("topic", p.Topic), slog.String("source", p.Source), slog.Int("partition", int(p.Partition)),
			slog.Int64("previous", previous),
		}, r.details...)
		if err := r.do(k, tx, number, source); err != nil {
			return err
		}
		return k.audit(ctx, tx, e)
	})
	if err != nil {
		return 0, wrap(r.consumer, r.action, err)
	}
	if !r.dryRun {
		e.log(ctx, a.log, r.consumer)
	}
	return previous, nil
}

// run calls change in a transaction, one at a time for each consumer; for a dry run it calls only
// look.
func (a *operators) run(
	ctx context.Context, consumer string, dryRun bool,
	look func(k keys, q querier, number int16) error, change func(k keys, tx pgx.Tx, number int16) error,
) error {
	return a.base.Use(ctx, consumer, func(conn *pgx.Conn, about pgclaim.Asked) error {
		k := a.keys
		k.consumer = about.Consumer
		if dryRun {
			return look(k, conn, about.Number.Int16)
		}
		return k.inTurn(ctx, conn, func(tx pgx.Tx) error { return change(k, tx, about.Number.Int16) })
	})
}

// next returns the remembered offset of a partition, or -1.
func (k keys) next(ctx context.Context, q querier, number int16, source pgtype.UUID, p admin.TopicPartition) (int64, error) {
	var next *int64
	var current *string
	err := q.QueryRow(ctx, k.statements.look, number, source, p.Partition, p.Topic).Scan(&next, &current)
	if err != nil || next == nil {
		return -1, err
	}
	return *next, nil
}

// inTurn runs fn in a transaction, one at a time for each consumer.
func (k keys) inTurn(ctx context.Context, conn *pgx.Conn, fn func(tx pgx.Tx) error) error {
	// Lock, then look: at this level each statement sees what was committed before the lock was
	// taken.
	mode := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
	err := pgx.BeginTxFunc(ctx, conn, pgpin.TxOptions(mode), func(tx pgx.Tx) error {
		var setting string
		if err := tx.QueryRow(ctx, k.statements.begin, k.ordered()).Scan(&setting); err != nil {
			return err
		}
		if setting == pgclaim.Async {
			return pgclaim.ErrNotDurable
		}
		return fn(tx)
	})
	if errors.Is(err, outbox.ErrNotDurable) { // otherwise its pool would hand the session out again
		pgclaim.Close(ctx, conn)
	}
	return pgclaim.Explain(err)
}

// wrap adds the consumer and the operation to err.
func wrap(consumer, what string, err error) error {
	return fmt.Errorf("leat: consumer %s: %s: %w", consumer, what, err)
}

// partitionName formats a partition for operators.
func partitionName(topic string, partition int32) string {
	return admin.TopicPartition{Topic: topic, Partition: partition}.String()
}
