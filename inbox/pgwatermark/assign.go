package pgwatermark

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/outbox"
)

// Assigned implements driver.Assigner. Reading continues at the remembered offset. A partition
// that is not remembered begins at its From and is remembered from then on. After that the
// offsets that the broker stores for the group do not count.
//
// It returns driver.ErrSourceChanged, driver.ErrBeyondEnd and driver.ErrMissing, after the hooks
// of alarms; inbox.ErrBusy if another session must end its transaction first;
// driver.ErrWrongTopic, driver.ErrNoPosition, outbox.ErrNotDurable, outbox.ErrNotMigrated; and an
// error for a consumer that is used with an inbox of ids as well: neither knows which messages
// the other has processed. After an error nothing was changed.
//
// A log may grow between the reading of End and the call: another session that is still
// processing new messages can pass End, which gives driver.ErrBeyondEnd. Begin again with a new
// End.
func (in *Inbox) Assigned(ctx context.Context, parts []driver.Assignment) ([]int64, error) {
	a := assigning{Inbox: in}
	for _, p := range parts {
		source, err := in.sourceOf(p.Topic, p.Source, p.Partition)
		if err != nil {
			return nil, in.wrap("assign", err)
		}
		if p.Start < 0 || p.End < p.Start || p.From < 0 {
			return nil, in.wrap("assign", fmt.Errorf("%w: %s starts at %d, ends at %d, is to be read from %d",
				driver.ErrNoPosition, partitionName(p.Topic, p.Partition), p.Start, p.End, p.From))
		}
		a.parts = append(a.parts, part{Assignment: p, source: source})
	}
	err := in.change(ctx, a.run)
	in.raise(ctx, a.alarms)
	if err != nil {
		return nil, in.wrap("assign", err)
	}
	next := make([]int64, len(parts))
	for i, p := range a.parts {
		next[i] = p.next
		in.cfg.Logger.LogAttrs(ctx, slog.LevelDebug, "inbox partition assigned",
			slog.String("consumer", in.Consumer()), slog.String("topic", p.Topic), slog.Int("partition", int(p.Partition)),
			slog.Int64("next", p.next), slog.Bool("new", p.isNew))
	}
	return next, nil
}

// assigning is one call of Assigned.
type assigning struct {
	*Inbox

	parts  []part
	alarms []outbox.AlarmEvent
}

// part is a partition of the call.
type part struct {
	driver.Assignment

	source  pgtype.UUID
	isNew   bool // the partition was not remembered
	fromTop bool // its source has replaced another
	next    int64
}

func (a *assigning) run(ctx context.Context, tx pgx.Tx, number int16) error {
	if err := a.alone(ctx, tx, number); err != nil {
		return err
	}
	if err := a.settleSources(ctx, tx, number); err != nil {
		return err
	}
	if err := a.recall(ctx, tx, number); err != nil {
		return err
	}
	for i := range a.parts {
		if err := a.setOffset(ctx, tx, number, &a.parts[i]); err != nil {
			return err
		}
	}
	return nil
}

// alone refuses a consumer that has an inbox of ids.
func (a *assigning) alone(ctx context.Context, tx pgx.Tx, number int16) error {
	var hasIDs, ranges bool
	err := tx.QueryRow(ctx, a.statements.ids, number).Scan(&hasIDs, &ranges)
	if err == nil && !hasIDs && ranges {
		err = tx.QueryRow(ctx, a.statements.idsRange, number).Scan(&hasIDs)
	}
	if err == nil && hasIDs {
		err = pgclaim.ErrOtherInbox
	}
	return err
}

// recall reads the remembered positions of the partitions.
func (a *assigning) recall(ctx context.Context, tx pgx.Tx, number int16) error {
	type name struct {
		source string
		part   int32
	}
	rows, err := tx.Query(ctx, a.statements.rows, number)
	if err != nil {
		return err
	}
	known := map[name]int64{}
	var n name
	var next int64
	if _, err := pgx.ForEachRow(rows, []any{&n.source, &n.part, &next}, func() error {
		known[n] = next
		return nil
	}); err != nil {
		return err
	}
	for i := range a.parts {
		p := &a.parts[i]
		next, ok := known[name{p.Source, p.Partition}]
		p.next, p.isNew = next, !ok
		switch {
		case ok:
		case p.fromTop:
			p.next = p.Start
		default:
			p.next = p.From
		}
	}
	return nil
}
