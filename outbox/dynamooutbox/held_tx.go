package dynamooutbox

import (
	"cmp"
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

// heldTx is a transaction on a group's held records: reads see the cached records with the
// changes so far, and the changes are collected.
type heldTx struct {
	*heldqueue.Memory

	ob    *Outbox
	group string
	dirty map[int64]*heldChange
	notes []admin.AuditEntry
}

// heldChange is a change of one row.
type heldChange struct {
	row    heldqueue.Row
	record *outbox.Record // of an inserted row
	gone   bool
}

var _ heldqueue.Tx = (*heldTx)(nil)

func (c *heldCache) tx(o *Outbox) *heldTx {
	return &heldTx{Memory: c.rows, ob: o, group: c.group, dirty: make(map[int64]*heldChange)}
}

// Insert implements heldqueue.Tx.
func (t *heldTx) Insert(ctx context.Context, rows []heldqueue.Row, records []*outbox.Record) error {
	bare := make([]*outbox.Record, len(records))
	for i, r := range records {
		b := *r
		b.Payload, b.Headers = nil, nil
		bare[i] = &b
		t.dirty[rows[i].Seq] = &heldChange{row: rows[i], record: r}
	}
	return t.Memory.Insert(ctx, rows, bare)
}

// Update implements heldqueue.Tx.
func (t *heldTx) Update(ctx context.Context, rows []heldqueue.Row) error {
	for i := range rows {
		if c := t.dirty[rows[i].Seq]; c != nil {
			c.row = rows[i]
			continue
		}
		t.dirty[rows[i].Seq] = &heldChange{row: rows[i]}
	}
	return t.Memory.Update(ctx, rows)
}

// Delete implements heldqueue.Tx.
func (t *heldTx) Delete(ctx context.Context, rows []heldqueue.Row) error {
	for i := range rows {
		t.dirty[rows[i].Seq] = &heldChange{row: rows[i], gone: true}
	}
	return t.Memory.Delete(ctx, rows)
}

// Note implements heldqueue.Tx.
func (t *heldTx) Note(_ context.Context, entries []admin.AuditEntry) error {
	t.notes = append(t.notes, entries...)
	return nil
}

// Records implements heldqueue.Reader: payloads are only in the table.
func (t *heldTx) Records(ctx context.Context, rows []heldqueue.Row) ([]outbox.Record, error) {
	keys := make([]item, len(rows))
	for i := range rows {
		keys[i] = at(heldPartition(t.group), rows[i].Seq)
	}
	items, err := t.ob.getAll(ctx, keys)
	records := make([]outbox.Record, len(items))
	for i := range items {
		records[i] = decode(items[i])
	}
	slices.SortFunc(records, func(a, b outbox.Record) int { return cmp.Compare(a.Seq, b.Seq) })
	return records, err
}

// writes returns the items of all changes. First come those of a dropped line, from its end, so
// that nothing of it is sent if not all fits into one transaction; then new and changed rows, the
// first of a line first, which holds the others back.
func (t *heldTx) writes() []types.TransactWriteItem {
	changes := make([]*heldChange, 0, len(t.dirty))
	for _, c := range t.dirty {
		changes = append(changes, c)
	}
	slices.SortFunc(changes, func(a, b *heldChange) int {
		switch {
		case a.gone != b.gone:
			return map[bool]int{true: -1, false: 1}[a.gone]
		case a.gone:
			return cmp.Compare(b.row.Seq, a.row.Seq)
		}
		return cmp.Compare(a.row.Seq, b.row.Seq)
	})
	var items []types.TransactWriteItem
	for _, c := range changes {
		items = append(items, t.ob.heldWrite(t.group, c))
	}
	for i := range t.notes {
		items = append(items, t.ob.auditPut(t.group, &t.notes[i]))
	}
	return items
}

func (o *Outbox) heldWrite(group string, c *heldChange) types.TransactWriteItem {
	key := at(heldPartition(group), c.row.Seq)
	if c.gone {
		return types.TransactWriteItem{Delete: &types.Delete{TableName: &o.cfg.Table, Key: key}}
	}
	if c.record != nil {
		return types.TransactWriteItem{Put: &types.Put{TableName: &o.cfg.Table, Item: encodeRow(encode(key, c.record), &c.row)}}
	}
	values := item{}
	for name, value := range encodeRow(item{}, &c.row) {
		values[":"+name] = value
	}
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &o.cfg.Table, Key: key, ExpressionAttributeValues: values,
		UpdateExpression:         aws.String("SET st = :st, nx = :nx, #at = :at, er = :er, re = :re, si = :si, #by = :by"),
		ExpressionAttributeNames: map[string]string{"#at": attrAttempts, "#by": attrBytes},
	}}
}
