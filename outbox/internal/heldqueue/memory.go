package heldqueue

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

var _ Tx = (*Memory)(nil)

// Memory keeps the rows of one group in memory. It is not safe for concurrent use, and a write
// takes effect at once: callers must serialise transactions. Its methods only return the error of
// a context that has ended.
type Memory struct {
	group string
	clock func() time.Time
	audit *AuditLog
	all   []*kept // ascending in Seq
	lines map[driver.Key][]*kept
}

// kept is a row with its record.
type kept struct {
	Row

	record outbox.Record
}

// NewMemory returns an empty group that reads the time from clock and writes to audit.
func NewMemory(group string, clock func() time.Time, audit *AuditLog) *Memory {
	return &Memory{group: group, clock: clock, audit: audit, lines: make(map[driver.Key][]*kept)}
}

// Rename gives the group another name.
func (m *Memory) Rename(group string) { m.group = group }

// Now implements Reader.
func (m *Memory) Now() time.Time {
	return m.clock()
}

// Insert implements Tx.
func (m *Memory) Insert(ctx context.Context, rows []Row, records []*outbox.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range rows {
		k := &kept{Row: rows[i], record: copyOf(records[i])}
		m.all = insert(m.all, k)
		if k.ordered() {
			m.lines[k.Key] = insert(m.lines[k.Key], k)
		}
	}
	return nil
}

// Update implements Tx.
func (m *Memory) Update(ctx context.Context, rows []Row) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range rows {
		if at, ok := search(m.all, rows[i].Seq); ok {
			m.all[at].Row = rows[i]
		}
	}
	return nil
}

// Delete implements Tx.
func (m *Memory) Delete(ctx context.Context, rows []Row) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range rows {
		m.all = remove(m.all, rows[i].Seq)
		if line := remove(m.lines[rows[i].Key], rows[i].Seq); len(line) > 0 {
			m.lines[rows[i].Key] = line
		} else {
			delete(m.lines, rows[i].Key)
		}
	}
	return nil
}

// Note implements Tx.
func (m *Memory) Note(ctx context.Context, entries []admin.AuditEntry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, e := range entries {
		e.Group, e.At = m.group, m.clock()
		m.audit.Add(e)
	}
	return nil
}

// Records implements Reader.
func (m *Memory) Records(ctx context.Context, rows []Row) ([]outbox.Record, error) {
	found := make([]outbox.Record, 0, len(rows))
	for i := range rows {
		if at, ok := search(m.all, rows[i].Seq); ok {
			found = append(found, copyOf(&m.all[at].record))
		}
	}
	return found, ctx.Err()
}

// Rows returns all rows, ascending in Seq.
func (m *Memory) Rows() []Row {
	return rowsOf(m.all)
}

func rowsOf(all []*kept) []Row {
	rows := make([]Row, len(all))
	for i, k := range all {
		rows[i] = k.Row
		rows[i].Errors = slices.Clone(k.Errors)
	}
	return rows
}

func search(all []*kept, seq int64) (at int, ok bool) {
	return slices.BinarySearchFunc(all, seq, func(k *kept, seq int64) int { return cmp.Compare(k.Seq, seq) })
}

func insert(all []*kept, k *kept) []*kept {
	at, _ := search(all, k.Seq)
	return slices.Insert(all, at, k)
}

func remove(all []*kept, seq int64) []*kept {
	at, ok := search(all, seq)
	if !ok {
		return all
	}
	return slices.Delete(all, at, at+1)
}

// copyOf returns a record that shares nothing with r.
func copyOf(r *outbox.Record) outbox.Record {
	c := *r
	c.Payload, c.Headers = slices.Clone(r.Payload), maps.Clone(r.Headers)
	return c
}
