package kafkasink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
)

// rejection is the error of batches that the cluster has refused. Their transaction was not
// committed.
type rejection struct {
	places []int // the places of the records of those batches in the transaction; ascending
	err    error
}

// Error names the first error.
func (r *rejection) Error() string {
	return fmt.Sprintf("kafka has rejected a batch: %v", r.err)
}

// Unwrap returns the first error.
func (r *rejection) Unwrap() error {
	return r.err
}

// judge returns the error of a transaction in which records have failed.
func (l *txLane) judge(ctx context.Context, records []kgo.Record, failures map[*kgo.Record]error) error {
	var first error
	refused := &rejection{}
	for i := range records {
		err := failures[&records[i]]
		again := errors.Is(err, kerr.InvalidTimestamp) && l.sink.page.refusedTime(&records[i])
		if err != nil && first == nil {
			if again {
				err = fmt.Errorf("%w: %w", errUntimely, err)
			}
			first = needs(err, "WRITE", records[i].Topic)
		}
		if err == nil || !rejected(err) {
			continue
		}
		if refused.err == nil {
			refused.err = err
		}
		refused.places = append(refused.places, i)
	}
	if refused.err != nil {
		return refused
	}
	if errors.Is(first, kgo.ErrClientClosed) && ctx.Err() != nil {
		first = fmt.Errorf("kafka has not acknowledged in time: %w", context.Cause(ctx))
	}
	return l.sink.conn.explain(fmt.Errorf("%d records failed: %w", len(failures), first))
}

// findCulprit looks for the first record that the cluster refuses, since the cluster does not
// name the record of a batch. It sends fewer and fewer records, in transactions that are never
// committed, and returns a *driver.PrefixError once one is refused alone. On return everything is
// aborted, or the error is of another kind.
func (l *txLane) findCulprit(ctx context.Context, records []outbox.Record, refused *rejection) error {
	l.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "kafka has rejected a batch, looking for the record",
		slog.String("slot", l.slot), slog.Int("records", len(refused.places)), slog.Any("error", refused.err))
	l.sink.replaced(ctx, l.slot, len(refused.places), refused.err)
	suspects := refused.places
	if suspects[len(suspects)-1] >= len(records) {
		return fmt.Errorf("position: %w", refused)
	}
	for len(suspects) > 1 {
		half := len(suspects) / 2
		err := l.try(ctx, records, suspects[:half])
		_, guilty := errors.AsType[*rejection](err)
		switch {
		case guilty:
			suspects = suspects[:half]
		case err != nil:
			return err
		default:
			suspects = suspects[half:]
		}
	}
	err := l.try(ctx, records, suspects)
	if err == nil {
		return refused // so it is not refused alone: the next term tries again
	}
	culprit, ok := errors.AsType[*rejection](err)
	if !ok {
		return err
	}
	if err := l.renew(ctx); err != nil {
		return err
	}
	return prefixError(suspects[0], outbox.FailurePermanent, culprit.err)
}

// try sends the records of places in a transaction that it leaves open for the next producer to
// abort.
func (l *txLane) try(ctx context.Context, records []outbox.Record, places []int) error {
	if err := l.renew(ctx); err != nil {
		return err
	}
	if err := l.sink.client.BeginTransaction(); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	page := &l.sink.page
	page.reset(len(places))
	for _, i := range places {
		page.add(i, &records[i])
	}
	sent := page.records
	if failures := l.sink.produce(ctx, sent); len(failures) > 0 {
		return l.judge(ctx, sent, failures)
	}
	return nil
}
