package pgoutbox

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/internal/trace"
)

// traceFirst is the length of the period after Since that is searched first.
const traceFirst = 2 * time.Hour

// Trace implements admin.Manager. A message is found by the time in its id, if that is a UUID of
// version 7: first around that time, and if there is nothing, from then on.
func (o operator) Trace(ctx context.Context, q admin.TraceQuery) (admin.Trace, error) {
	byTime := q.Since.IsZero()
	err := admin.Complete(&q)
	if err != nil {
		return admin.Trace{}, err
	}
	var found admin.Trace
	err = o.looking(ctx, func(tx pgx.Tx) error {
		records, err := o.traceLog(ctx, tx, q, byTime)
		if err != nil {
			return err
		}
		if found.Held, found.Dead, err = o.held.ByID(ctx, tx, q.ID, seqsOf(records)); err != nil {
			return err
		}
		found.Audit, err = o.held.Audit(ctx, tx, admin.AuditQuery{ID: q.ID, Since: q.Since, Newest: true})
		if err != nil {
			return err
		}
		slices.Reverse(found.Audit)
		if found.Delayed, err = o.delayed(ctx, tx, admin.DelayedQuery{ID: q.ID, Limit: 100}); err != nil {
			return err
		}
		found.Messages, err = o.traceGroups(ctx, tx, records, found)
		return err
	})
	return found, describe(err)
}

// traceLog returns the messages of the log with an id. If its time is known, these are the
// messages around that time or, if there are none, all since then.
func (o *Outbox) traceLog(ctx context.Context, tx pgx.Tx, q admin.TraceQuery, byTime bool) ([]outbox.Record, error) {
	id, _ := ids.Map(q.ID)
	var until *time.Time
	if byTime {
		until = new(q.Since.Add(traceFirst))
	}
	for {
		rows, err := tx.Query(ctx, o.sql.traceLog, ids.Text(id), q.ID, q.Since, until)
		if err != nil {
			return nil, err
		}
		var d decoder
		for rows.Next() {
			if err := d.scan(rows); err != nil {
				rows.Close()
				return nil, err
			}
		}
		if rows.Close(); rows.Err() != nil || len(d.records) > 0 || until == nil {
			return d.records, rows.Err()
		}
		q.Since, until = *until, nil
	}
}

func seqsOf(records []outbox.Record) []int64 {
	seqs := make([]int64, len(records))
	for i := range records {
		seqs[i] = records[i].Seq
	}
	return seqs
}

// traceGroups returns the state of records in each group.
func (o *Outbox) traceGroups(ctx context.Context, tx pgx.Tx, records []outbox.Record, known admin.Trace) ([]admin.TracedMessage, error) {
	if len(records) == 0 {
		return nil, nil
	}
	messages := make([]admin.TracedMessage, len(records))
	seqs := seqsOf(records)
	for i, r := range records {
		messages[i].Record = r
	}
	rows, err := tx.Query(ctx, o.sql.traceGroups, seqs)
	if err != nil {
		return nil, err
	}
	var seq int64
	var g admin.GroupTrace
	_, err = pgx.ForEachRow(rows, []any{&seq, &g.Group, &g.State}, func() error {
		at := slices.Index(seqs, seq)
		found := g
		if behind := g.State == admin.TraceUnknown; behind || g.State == admin.TraceSent {
			found.State = trace.Settled(&known, g.Group, seq, behind)
		}
		messages[at].Groups = append(messages[at].Groups, found)
		return nil
	})
	return messages, err
}
