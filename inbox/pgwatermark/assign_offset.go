package pgwatermark

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/outbox"
)

// setOffset adjusts next to an offset that the log has, or will have, and stores it.
func (a *assigning) setOffset(ctx context.Context, tx pgx.Tx, number int16, p *part) error {
	alarm := func(kind outbox.AlarmKind, refused bool) {
		a.alarms = append(a.alarms, outbox.AlarmEvent{Kind: kind, Topic: p.Topic, Attrs: []slog.Attr{
			slog.String("source", p.Source), slog.Bool("refused", refused), slog.Int("partition", int(p.Partition)),
			slog.Int64("next", p.next), slog.Int64("start", p.Start), slog.Int64("end", p.End),
		}})
	}
	remembered, partition := p.next, partitionName(p.Topic, p.Partition)
	if err := basis.Reached(basis.ErrBeyondEnd, "the end of "+partition+":", p.next, p.End); err != nil {
		alarm(AlarmBeyondEnd, true)
		return err
	}
	if p.next < p.Start {
		alarm(AlarmMissing, a.cfg.RefuseMissing)
		if a.cfg.RefuseMissing {
			return basis.Refuse(basis.ErrMissing, fmt.Sprintf("%s starts at %d, to be read on at %d", partition, p.Start, p.next))
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

// passOver moves a watermark to the start of the log, by the statement of a claim: it does not
// wait for a handler, and does not move a watermark that has moved in between.
func (a *assigning) passOver(ctx context.Context, tx pgx.Tx, number int16, p part, remembered int64) error {
	tag, err := tx.Exec(ctx, a.statements.claim, number, p.source, p.Partition,
		p.next-1, a.lockOf(p.source, p.Partition), remembered-1)
	if err == nil && tag.RowsAffected() == 0 {
		err = fmt.Errorf("%w: %s", inbox.ErrBusy, partitionName(p.Topic, p.Partition))
	}
	return err
}
