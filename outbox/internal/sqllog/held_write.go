package sqllog

import (
	"context"
	"encoding/json"

	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/internal/storable"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

// Insert implements heldqueue.Tx.
func (t *HeldTx) Insert(ctx context.Context, rows []heldqueue.Row, records []*outbox.Record) error {
	messages := make([]MessageRow, len(rows))
	before := make([][]any, len(rows))
	for i := range rows {
		row, r := &rows[i], records[i]
		var err error
		if messages[i], err = RowOf(&r.Message, r.Shard); err != nil {
			return err
		}
		state, err := stateOf(row)
		if err != nil {
			return err
		}
		before[i] = append([]any{[]byte(t.group), row.Seq, lineOf(row.Key), row.Bytes, r.CreatedAt.UnixMicro()}, state...)
	}
	return t.log.InsertRows(ctx, t.q, "held_insert", messages, func(i int) []any { return before[i] })
}

// stateOf returns the values of the columns that change: state, next_at, attempts, errors,
// reason, since.
func stateOf(row *heldqueue.Row) ([]any, error) {
	all := make([]failure, len(row.Errors))
	for i, e := range row.Errors {
		all[i] = failure{e.At.UnixMicro(), e.Kind, e.Error, e.Epoch}
	}
	failures, err := json.Marshal(all)
	next := int64(0)
	if !row.Next.IsZero() {
		next = row.Next.UnixMicro()
	}
	return []any{row.State, next, row.Attempts, failures, []byte(row.Reason), row.Since.UnixMicro()}, err
}

// Update implements heldqueue.Tx.
func (t *HeldTx) Update(ctx context.Context, rows []heldqueue.Row) error {
	for i := range rows {
		args, err := stateOf(&rows[i])
		if err != nil {
			return err
		}
		if _, err := t.q.ExecContext(ctx, t.log.SQL["held_update"], append(args, []byte(t.group), rows[i].Seq)...); err != nil {
			return err
		}
	}
	return nil
}

// Delete implements heldqueue.Tx.
func (t *HeldTx) Delete(ctx context.Context, rows []heldqueue.Row) error {
	for i := range rows {
		if _, err := t.q.ExecContext(ctx, t.log.SQL["held_delete"], []byte(t.group), rows[i].Seq); err != nil {
			return err
		}
	}
	return nil
}

// Note implements heldqueue.Tx.
func (t *HeldTx) Note(ctx context.Context, entries []admin.AuditEntry) error {
	for i := range entries {
		entries[i].Group = t.group
		if err := t.log.Note(ctx, t.q, &entries[i]); err != nil {
			return err
		}
	}
	return nil
}

// Note adds an entry to the audit.
func (l *Log) Note(ctx context.Context, q sqlstore.Querier, e *admin.AuditEntry) error {
	details := []byte(e.Details)
	if details == nil {
		details = []byte{}
	}
	_, err := q.ExecContext(ctx, l.SQL["audit_insert"], []byte(e.Action), []byte(storable.Text(e.Actor)), []byte(storable.Text(e.Reason)),
		[]byte(e.Group), e.Seq, []byte(e.ID), []byte(e.Topic), []byte(e.Key), details)
	return err
}
