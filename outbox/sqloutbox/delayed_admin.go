package sqloutbox

import (
	"context"
	"database/sql"

	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/internal/sqllog"
)

// Delayed implements admin.Manager.
func (o operator) Delayed(ctx context.Context, q admin.DelayedQuery) (found []admin.DelayedMessage, err error) {
	if err = admin.Complete(&q); err != nil {
		return nil, err
	}
	err = o.log.Look(ctx, func(db sqlstore.Querier) error {
		found, err = o.delayed(ctx, db, q)
		return err
	})
	return found, err
}

// delayed returns the messages that a complete query selects.
func (o *Outbox) delayed(ctx context.Context, db sqlstore.Querier, q admin.DelayedQuery) (found []admin.DelayedMessage, err error) {
	var c sqlstore.Condition
	c.And("1 = 1")
	for _, f := range [...]struct{ column, value string }{{"id", q.ID}, {"topic", q.Topic}, {"msg_key", q.Key}} {
		if f.value != "" {
			c.And(f.column+" = ?", []byte(f.value))
		}
	}
	if q.After != nil {
		at := q.After.NotBefore.UnixMicro()
		c.And("(not_before > ? OR (not_before = ? AND no > ?))", at, at, q.After.No)
	}
	var due sqllog.Micros
	next := sqllog.NewRecordScan(&due)
	err = sqlstore.Each(ctx, db, func(scan sqlstore.Scanner) error {
		r, err := next.Next(scan)
		r.NotBefore = due.Time()
		found = append(found, admin.DelayedMessage{Message: r.Message, No: r.Seq, CreatedAt: r.CreatedAt})
		return err
	}, o.log.SQL.With("delayed_list", c.String()+" ORDER BY not_before, no LIMIT ?"), append(c.Args, q.Limit)...)
	return found, err
}

// maxCancelled bounds the messages with one id that are cancelled at once.
const maxCancelled = 10_000

// CancelDelayed implements admin.Manager.
func (o operator) CancelDelayed(ctx context.Context, req admin.CancelRequest) (changed admin.Changed, err error) {
	if err := admin.Complete(&req); err != nil {
		return admin.Changed{}, err
	}
	err = o.log.Change(ctx, func(tx *sql.Tx) error {
		if !o.log.Dialect.OneWriter { // so that none is moved in the meantime
			if err := o.lockBuckets(ctx, tx, []int64{promoterLock}); err != nil {
				return err
			}
		}
		found, err := o.delayed(ctx, tx, admin.DelayedQuery{ID: req.ID, Limit: maxCancelled})
		if err != nil {
			return err
		}
		for i := range found {
			m := &found[i]
			changed.Count++
			changed.IDs = append(changed.IDs, m.ID)
			if req.DryRun {
				continue
			}
			if _, err := tx.ExecContext(ctx, o.log.SQL["delayed_delete"], m.No); err != nil {
				return err
			}
			e := &admin.AuditEntry{Action: "cancel_delayed", ID: m.ID, Topic: m.Topic, Key: m.Key}
			if err := o.noteBy(ctx, tx, e, req.By, map[string]any{"not_before": m.NotBefore}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return admin.Changed{}, err
	}
	return changed, nil
}
