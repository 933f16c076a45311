package heldqueue

import (
	"cmp"
	"context"
	"slices"

	"github.com/leat-go/leat/outbox/driver"
)

// Heads implements Reader.
func (m *Memory) Heads(ctx context.Context, keys []driver.Key) ([]Row, error) {
	var heads []*kept
	for _, key := range keys {
		first := true
		for _, k := range m.lines[key] {
			if k.State != Dead && (first || k.State != Wait) {
				heads = append(heads, k)
			}
			first = first && k.State == Dead
		}
	}
	return rowsOf(heads), ctx.Err()
}

// Behind implements Reader.
func (m *Memory) Behind(ctx context.Context, rows []Row, limit int) ([]Row, error) {
	var behind []*kept
	for i := range rows {
		line := m.lines[rows[i].Key]
		at, _ := search(line, rows[i].Seq+1)
		n := 0
		for _, k := range line[at:] {
			if k.State == Dead {
				continue
			}
			if k.State != Wait || n == limit {
				break
			}
			behind = append(behind, k)
			n++
		}
	}
	return rowsOf(behind), ctx.Err()
}

// Due implements Reader.
func (m *Memory) Due(ctx context.Context, q DueQuery) ([]Row, error) {
	except := make(map[string]bool, len(q.Except))
	for _, topic := range q.Except {
		except[topic] = true
	}
	var due []*kept
	for _, k := range m.all {
		if k.isDue(q.By) && q.Share.Has(k.record.Shard) && !except[k.Key.Topic] {
			due = append(due, k)
		}
	}
	slices.SortStableFunc(due, func(a, b *kept) int { return a.Next.Compare(b.Next) })
	return rowsOf(due[:min(len(due), q.Limit)]), ctx.Err()
}

// Select implements Reader.
func (m *Memory) Select(ctx context.Context, q Query) ([]Row, error) {
	from := m.all
	switch {
	case q.Line.Key != "":
		from = m.lines[q.Line]
	case len(q.Seqs) > 0:
		from = nil
		for _, seq := range q.Seqs {
			if at, ok := search(m.all, seq); ok {
				from = append(from, m.all[at])
			}
		}
		slices.SortFunc(from, func(a, b *kept) int { return cmp.Compare(a.Seq, b.Seq) })
	}
	var found []*kept
	for i := range from {
		k := from[i]
		if q.Last {
			k = from[len(from)-1-i]
		}
		if q.Limit > 0 && len(found) == q.Limit {
			break
		}
		if q.Share.Has(k.record.Shard) && q.Matches(&k.Row) {
			found = append(found, k)
		}
	}
	return rowsOf(found), ctx.Err()
}

// Count implements Reader.
func (m *Memory) Count(ctx context.Context, share Share) (int, error) {
	n := 0
	for _, k := range m.all {
		if k.State != Dead && share.Has(k.record.Shard) {
			n++
		}
	}
	return n, ctx.Err()
}
