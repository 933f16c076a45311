package pgwatermark

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/outbox"
)

// setOffset makes next an offset that the log has, or will have, and stores it.
func (a *assigning) setOffset(ctx context.Context, tx pgx.Tx, number int16, p *part) error {
	alarm := func(kind outbox.AlarmKind, refused bool) {
		a.alarms = append(a.alarms, outbox.AlarmEvent{Kind: kind, Topic: p.Topic, Attrs: []slog.Attr{
			slog.String("source", p.Source), slog.Bool("refused", refused), slog.Int("partition", int(p.Partition)),
			slog.Int64("next", p.next), slog.Int64("start", p.Start), slog.Int64("end", p.End),
		}})
	}
	remembered := p.next
	switch {
	case p.next > p.End:
		alarm(AlarmBeyondEnd, true)
		return fmt.Errorf("%w: %s ends at %d, to be read on at %d", driver.ErrBeyondEnd,
			partitionName(p.Topic, p.Partition), p.End, p.next)
	case p.next < p.Start:
		refused := a.cfg.RefuseMissing
		alarm(AlarmMissing, refused)
		if refused {
			return fmt.Errorf("%w: %s starts at %d, to be read on at %d", driver.ErrMissing,
				partitionName(p.Topic, p.Partition), p.Start, p.next)
		}
		p.next = p.Start
	}
	switch {
	case p.isNew:
		_, err := tx.Exec(ctx, a.statements.seed, number, p.source, p.Partition, p.next)
		return err
	case p.next == remembered:
		return nil
	default:
		return a.passOver(ctx, tx, number, *p, remembered)
	}
}

// passOver moves a watermark to the start of the log, by the statement of a claim:
// it does not wait for a handler, and moves nothing that has moved meanwhile.
func (a *assigning) passOver(ctx context.Context, tx pgx.Tx, number int16, p part, remembered int64) error {
	tag, err := tx.Exec(ctx, a.statements.claim, number, p.source, p.Partition,
		p.next-1, a.lockOf(p.source, p.Partition), remembered-1)
	if err == nil && tag.RowsAffected() == 0 {
		err = fmt.Errorf("%w: %s", inbox.ErrBusy, partitionName(p.Topic, p.Partition))
	}
	return err
}
