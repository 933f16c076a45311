package pgwatermark

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
)

// Accept makes a source the topic's current one, after driver.ErrSourceChanged. Its
// partitions begin at their start when they are assigned, so that nothing of a
// topic that was created again is lost. Where the new log holds what the old one
// did, as after a move to another cluster, call Set for each partition first. What
// is remembered of the old source stays, in case it comes back. It returns
// admin.ErrInvalidRequest.
func (in *Inbox) Accept(ctx context.Context, req AcceptRequest) error {
	source, err := in.requestRead(req.By, TopicPartition{Topic: req.Topic, Source: req.Source})
	if err != nil {
		return in.wrap("accept a source", err)
	}
	if err := in.known(ctx); err != nil {
		return in.wrap("accept a source", err)
	}
	known := ""
	err = in.change(ctx, func(ctx context.Context, tx pgx.Tx, number int16) error {
		all, err := in.knownSources(ctx, tx, number)
		if err != nil {
			return err
		}
		for _, s := range all {
			switch {
			case s.source == req.Source && s.topic != req.Topic:
				return fmt.Errorf("%w: source %s is that of topic %.200q", admin.ErrInvalidRequest, s.source, s.topic)
			case s.topic == req.Topic && !s.retired:
				known = s.source
			}
		}
		if known == req.Source {
			return nil
		}
		return in.replaceSource(ctx, tx, number, req.Topic, source, known)
	})
	if err != nil {
		return in.wrap("accept a source", err)
	}
	in.audit(ctx, "accept_source", req.By, slog.String("topic", req.Topic),
		slog.String("source", req.Source), slog.String("known_source", known))
	return nil
}

// Set makes a partition go on at another offset, forwards or backwards, and
// returns the offset at which it would have gone on, or -1 if nothing was
// remembered. A session that is reading the partition gets driver.ErrGap or
// duplicates, and has to be assigned anew. It returns admin.ErrInvalidRequest, and
// inbox.ErrBusy while a handler runs for a message of the partition.
func (in *Inbox) Set(ctx context.Context, req SetRequest) (previous int64, err error) {
	source, err := in.requestRead(req.By, req.TopicPartition)
	if err == nil && req.Next < 0 {
		err = fmt.Errorf("%w: Next = %d: must not be negative", admin.ErrInvalidRequest, req.Next)
	}
	if err == nil {
		previous, err = in.rewrite(ctx, source, req.TopicPartition, func(tx pgx.Tx, number int16) error {
			_, err := tx.Exec(ctx, in.statements.set, number, source, req.Partition, req.Next)
			return err
		})
	}
	if err != nil {
		return 0, in.wrap("set a watermark", err)
	}
	in.audit(ctx, "set_watermark", req.By, append(req.attrs(),
		slog.Int64("previous", previous), slog.Int64("next", req.Next))...)
	return previous, nil
}

// Remove forgets a partition, as if it had never been assigned, and with the last
// one of a source the source: for topics that are gone. It returns the offset at
// which it would have gone on. It returns admin.ErrInvalidRequest, also if nothing
// is remembered, and inbox.ErrBusy while a handler runs for a message of the
// partition.
func (in *Inbox) Remove(ctx context.Context, req RemoveRequest) (previous int64, err error) {
	source, err := request(req.By, req.TopicPartition)
	if err == nil {
		err = in.known(ctx)
	}
	if err == nil {
		previous, err = in.rewrite(ctx, source, req.TopicPartition, func(tx pgx.Tx, number int16) error {
			tag, err := tx.Exec(ctx, in.statements.remove, number, source, req.Partition)
			if err == nil && tag.RowsAffected() == 0 {
				err = fmt.Errorf("%w: nothing is remembered of %s", admin.ErrInvalidRequest, partitionName(req.Topic, req.Partition))
			}
			if err == nil {
				_, err = tx.Exec(ctx, in.statements.forget, number, source)
			}
			return err
		})
	}
	if err != nil {
		return 0, in.wrap("remove a watermark", err)
	}
	in.audit(ctx, "remove_watermark", req.By, append(req.attrs(), slog.Int64("previous", previous))...)
	return previous, nil
}

// Skip passes over one message, as if it had been processed: for a message that
// can never be, once it is stored elsewhere. The message must be the one that
// its session has delivered last. Its errors are those of Process.
//
// A middleware outside the inbox that acknowledges a message which the inbox has
// not processed leaves a gap, at which the partition stops. It has to call Skip
// first.
func (in *Inbox) Skip(msg *message.Message, by admin.By) error {
	if err := by.Check(); err != nil {
		return in.wrap("skip a message", err)
	}
	outcome, err := in.Process(msg.Context(), msg, func(context.Context) error { return nil })
	if err != nil {
		return err
	}
	at, _ := driver.PositionFrom(msg.Context())
	in.audit(msg.Context(), "skip_message", by,
		slog.String("position", describe(at)), slog.String("outcome", outcome.String()))
	return nil
}

// rewrite runs fn while no handler runs for the partition, and returns what was
// remembered before, or -1.
func (in *Inbox) rewrite(
	ctx context.Context, source pgtype.UUID, p TopicPartition, fn func(tx pgx.Tx, number int16) error,
) (previous int64, err error) {
	previous = -1
	err = in.change(ctx, func(ctx context.Context, tx pgx.Tx, number int16) error {
		var free bool
		if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, in.lockOf(source, p.Partition)).Scan(&free); err != nil {
			return err
		}
		if !free {
			return fmt.Errorf("%w: %s", inbox.ErrBusy, partitionName(p.Topic, p.Partition))
		}
		var next *int64
		var current *string
		if err := tx.QueryRow(ctx, in.statements.look, number, source, p.Partition, p.Topic).Scan(&next, &current); err != nil {
			return err
		}
		if next != nil {
			previous = *next
		}
		return fn(tx, number)
	})
	return previous, err
}

// audit writes who has changed what to the log.
func (in *Inbox) audit(ctx context.Context, what string, by admin.By, attrs ...slog.Attr) {
	in.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "inbox changed by hand", append([]slog.Attr{
		slog.String("change", what), slog.String("consumer", in.Consumer()),
		slog.String("actor", by.Actor), slog.String("reason", by.Reason),
	}, attrs...)...)
}
