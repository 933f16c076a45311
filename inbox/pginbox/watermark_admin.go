package pginbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
)

// ErrWatermarkRequest is returned by the methods of Watermark for people when a
// request is incomplete or names nothing that there is. The text says which.
// Nothing was changed.
var ErrWatermarkRequest = errors.New("leat: request cannot be fulfilled")

// WatermarkBy says who asks for a change, and why. Both are required and go to
// the log.
type WatermarkBy struct {
	Actor, Reason string
}

// AcceptSource asks to take a topic for the log that it is now.
type AcceptSource struct {
	WatermarkBy

	// Topic is the topic's name, Source what it is known by from now on: that of
	// driver.SourceChangedError.Found.
	Topic, Source string
}

// WatermarkPartition names a partition of a consumer's log.
type WatermarkPartition struct {
	// Topic is the topic's name.
	Topic string
	// Source is the topic's id.
	Source string
	// Partition is its number, from 0.
	Partition int32
}

// SetWatermark asks to go on at another offset.
type SetWatermark struct {
	WatermarkBy
	WatermarkPartition

	// Next is the offset of the message to process next. Messages between the old
	// value and a higher one are never processed, those between a lower one and the
	// old value are processed again.
	Next int64
}

// RemoveWatermark asks to forget a partition.
type RemoveWatermark struct {
	WatermarkBy
	WatermarkPartition
}

// Accept makes a source the topic's current one, after driver.ErrSourceChanged. Its
// partitions begin at their start when they are assigned, so that nothing of a
// topic that was created again is lost. Where the new log holds what the old one
// did, as after a move to another cluster, call Set for each partition first. What
// is remembered of the old source stays, in case it comes back. It returns
// ErrWatermarkRequest.
func (w *Watermark) Accept(ctx context.Context, req AcceptSource) error {
	source, err := w.requestRead(req.WatermarkBy, WatermarkPartition{Topic: req.Topic, Source: req.Source})
	if err != nil {
		return w.wrap("accept a source", err)
	}
	if err := w.known(ctx); err != nil {
		return w.wrap("accept a source", err)
	}
	known := ""
	err = w.change(ctx, func(ctx context.Context, tx pgx.Tx, number int16) error {
		all, err := w.knownSources(ctx, tx, number)
		if err != nil {
			return err
		}
		for _, s := range all {
			switch {
			case s.source == req.Source && s.topic != req.Topic:
				return fmt.Errorf("%w: source %s is that of topic %.200q", ErrWatermarkRequest, s.source, s.topic)
			case s.topic == req.Topic && !s.retired:
				known = s.source
			}
		}
		if known == req.Source {
			return nil
		}
		return w.replaceSource(ctx, tx, number, req.Topic, source, known)
	})
	if err != nil {
		return w.wrap("accept a source", err)
	}
	w.audit(ctx, "accept_source", req.WatermarkBy, slog.String("topic", req.Topic),
		slog.String("source", req.Source), slog.String("known_source", known))
	return nil
}

// Set makes a partition go on at another offset, forwards or backwards, and
// returns the offset at which it would have gone on, or -1 if nothing was
// remembered. A session that is reading the partition gets driver.ErrGap or
// duplicates, and has to be assigned anew. It returns ErrWatermarkRequest, and
// inbox.ErrBusy while a handler runs for a message of the partition.
func (w *Watermark) Set(ctx context.Context, req SetWatermark) (previous int64, err error) {
	source, err := w.requestRead(req.WatermarkBy, req.WatermarkPartition)
	if err == nil && req.Next < 0 {
		err = fmt.Errorf("%w: Next = %d: must not be negative", ErrWatermarkRequest, req.Next)
	}
	if err == nil {
		previous, err = w.rewrite(ctx, source, req.WatermarkPartition, func(tx pgx.Tx, number int16) error {
			_, err := tx.Exec(ctx, w.keys.set, number, source, req.Partition, req.Next)
			return err
		})
	}
	if err != nil {
		return 0, w.wrap("set a watermark", err)
	}
	w.audit(ctx, "set_watermark", req.WatermarkBy, append(req.attrs(),
		slog.Int64("previous", previous), slog.Int64("next", req.Next))...)
	return previous, nil
}

// Remove forgets a partition, as if it had never been assigned, and with the last
// one of a source the source: for topics that are gone. It returns the offset at
// which it would have gone on. It returns ErrWatermarkRequest, also where nothing
// is remembered, and inbox.ErrBusy while a handler runs for a message of the
// partition.
func (w *Watermark) Remove(ctx context.Context, req RemoveWatermark) (previous int64, err error) {
	source, err := request(req.WatermarkBy, req.WatermarkPartition)
	if err == nil {
		err = w.known(ctx)
	}
	if err == nil {
		previous, err = w.rewrite(ctx, source, req.WatermarkPartition, func(tx pgx.Tx, number int16) error {
			tag, err := tx.Exec(ctx, w.keys.remove, number, source, req.Partition)
			if err == nil && tag.RowsAffected() == 0 {
				err = fmt.Errorf("%w: nothing is remembered of %s", ErrWatermarkRequest, partitionName(req.Topic, req.Partition))
			}
			if err == nil {
				_, err = tx.Exec(ctx, w.keys.forget, number, source)
			}
			return err
		})
	}
	if err != nil {
		return 0, w.wrap("remove a watermark", err)
	}
	w.audit(ctx, "remove_watermark", req.WatermarkBy, append(req.attrs(), slog.Int64("previous", previous))...)
	return previous, nil
}

// Skip passes over one message, as if it had been processed: for a message that
// can never be, once it is stored elsewhere. The message must be the one that
// its session has delivered last. Its errors are those of Process.
//
// A middleware outside the inbox that acknowledges a message which the inbox has
// not processed leaves a gap, at which the partition stops. It has to call Skip
// first.
func (w *Watermark) Skip(msg *message.Message, by WatermarkBy) error {
	if err := by.validate(); err != nil {
		return w.wrap("skip a message", err)
	}
	outcome, err := w.Process(msg.Context(), msg, func(context.Context) error { return nil })
	if err != nil {
		return err
	}
	at, _ := driver.PositionFrom(msg.Context())
	w.audit(msg.Context(), "skip_message", by,
		slog.String("position", describe(at)), slog.String("outcome", outcome.String()))
	return nil
}

// WatermarkState is what is remembered of a partition.
type WatermarkState struct {
	WatermarkPartition

	// Next is the offset of the message to process next.
	Next int64
	// Current says that the source is the one by which the topic is known.
	Current bool
}

// Watermarks returns what is remembered for the consumer, by topic, source and
// partition. It writes nothing. It returns ErrUnknownConsumer where the inbox has
// never had a message for one of that name.
func (w *Watermark) Watermarks(ctx context.Context) (all []WatermarkState, err error) {
	err = w.lend(ctx, func(conn *pgx.Conn) error {
		number, err := w.keys.known(ctx, conn)
		if err != nil {
			return err
		}
		rows, err := conn.Query(ctx, w.keys.list, number)
		if err != nil {
			return explain(err)
		}
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (s WatermarkState, err error) {
			err = row.Scan(&s.Topic, &s.Source, &s.Partition, &s.Next, &s.Current)
			return s, err
		})
		return explain(err)
	})
	if err != nil {
		return nil, w.wrap("list watermarks", err)
	}
	return all, nil
}

// known returns ErrUnknownConsumer for a consumer that changes nothing: change would
// register it.
func (w *Watermark) known(ctx context.Context) error {
	return w.lend(ctx, func(conn *pgx.Conn) error {
		_, err := w.keys.known(ctx, conn)
		return err
	})
}

// rewrite runs fn while no handler runs for the partition, and returns what was
// remembered before, or -1.
func (w *Watermark) rewrite(
	ctx context.Context, source pgtype.UUID, p WatermarkPartition, fn func(tx pgx.Tx, number int16) error,
) (previous int64, err error) {
	previous = -1
	err = w.change(ctx, func(ctx context.Context, tx pgx.Tx, number int16) error {
		var free bool
		if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, w.keys.lockOf(source, p.Partition)).Scan(&free); err != nil {
			return err
		}
		if !free {
			return fmt.Errorf("%w: %s", inbox.ErrBusy, partitionName(p.Topic, p.Partition))
		}
		var next *int64
		var current *string
		if err := tx.QueryRow(ctx, w.keys.look, number, source, p.Partition, p.Topic).Scan(&next, &current); err != nil {
			return err
		}
		if next != nil {
			previous = *next
		}
		return fn(tx, number)
	})
	return previous, err
}

// requestRead is request for a topic that the consumer reads.
func (w *Watermark) requestRead(by WatermarkBy, p WatermarkPartition) (pgtype.UUID, error) {
	if !w.keys.topics[p.Topic] {
		return pgtype.UUID{}, fmt.Errorf("%w: %w: topic %.200q", ErrWatermarkRequest, driver.ErrWrongTopic, p.Topic)
	}
	return request(by, p)
}

// request checks what a request names.
func request(by WatermarkBy, p WatermarkPartition) (pgtype.UUID, error) {
	if err := by.validate(); err != nil {
		return pgtype.UUID{}, err
	}
	source, err := storedSource(p.Topic, p.Source, p.Partition)
	if err != nil {
		return source, fmt.Errorf("%w: %w", ErrWatermarkRequest, err)
	}
	return source, nil
}

func (b WatermarkBy) validate() error {
	switch {
	case b.Actor == "":
		return fmt.Errorf("%w: Actor is empty", ErrWatermarkRequest)
	case b.Reason == "":
		return fmt.Errorf("%w: Reason is empty", ErrWatermarkRequest)
	default:
		return nil
	}
}

func (p WatermarkPartition) attrs() []slog.Attr {
	return []slog.Attr{
		slog.String("topic", p.Topic), slog.String("source", p.Source), slog.Int("partition", int(p.Partition)),
	}
}

// audit writes who has changed what to the log.
func (w *Watermark) audit(ctx context.Context, what string, by WatermarkBy, attrs ...slog.Attr) {
	w.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "inbox changed by hand", append([]slog.Attr{
		slog.String("change", what), slog.String("consumer", w.Consumer()),
		slog.String("actor", by.Actor), slog.String("reason", by.Reason),
	}, attrs...)...)
}
