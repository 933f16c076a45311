package heldqueue

import (
	"context"

	"github.com/leat-go/leat/outbox/admin"
)

// Held returns held records, ascending in Seq, each with the state of the first row of
// its line.
func (o Operators) Held(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	return list(ctx, o.Store, q, func(r Reader, q admin.HeldQuery) (found []listed, err error) {
		for after := q.After; ; {
			page, err := r.Select(ctx, selecting(q, after, Retry, Parked, Wait))
			if err != nil || len(page) == 0 {
				return found, err
			}
			states, err := statesOf(ctx, r, page)
			if err != nil {
				return nil, err
			}
			for i := range page {
				if q.State == "" || q.State == states[i] {
					found = append(found, listed{page[i], states[i]})
				}
				if len(found) == q.Limit {
					return found, nil
				}
			}
			after = page[len(page)-1].Seq
		}
	})
}

// listed is a row, and the state of the first row of its line; empty if the row is dead.
type listed struct {
	Row

	state admin.HeldState
}

// statesOf returns the states of the first rows of the lines of rows.
func statesOf(ctx context.Context, r Reader, rows []Row) ([]admin.HeldState, error) {
	isBlocked, err := blocked(ctx, r, rows)
	if err != nil {
		return nil, err
	}
	states := make([]admin.HeldState, len(rows))
	for i := range rows {
		states[i] = admin.HeldRetrying
		if rows[i].State == Parked || isBlocked(&rows[i]) {
			states[i] = admin.HeldParked
		}
	}
	return states, nil
}

// Dead returns dead records, ascending in Seq.
func (o Operators) Dead(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	return list(ctx, o.Store, q, func(r Reader, q admin.HeldQuery) ([]listed, error) {
		rows, err := r.Select(ctx, selecting(q, q.After, Dead))
		return stateless(rows), err
	})
}

func selecting(q admin.HeldQuery, after int64, in ...State) Query {
	return Query{In: in, Topics: q.Topic, Key: q.Key, From: after + 1, Limit: q.Limit}
}

func stateless(rows []Row) []listed {
	all := make([]listed, len(rows))
	for i := range rows {
		all[i].Row = rows[i]
	}
	return all
}

// list returns the rows that pick has picked, with their records.
func list(
	ctx context.Context, s Store, q admin.HeldQuery, pick func(r Reader, q admin.HeldQuery) ([]listed, error),
) (all []admin.HeldRecord, err error) {
	err = admin.Complete(&q)
	if err != nil {
		return nil, err
	}
	err = s.Look(ctx, q.Group, func(r Reader) error {
		rows, err := pick(r, q)
		if err == nil {
			all, err = recordsOf(ctx, r, q.Group, rows)
		}
		return err
	})
	if q.OmitPayload {
		for i := range all {
			all[i].Payload, all[i].Headers = nil, nil
		}
	}
	return all, err
}

// recordsOf returns rows with their records, ascending in Seq.
func recordsOf(ctx context.Context, r Reader, group string, rows []listed) ([]admin.HeldRecord, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	bare := make([]Row, len(rows))
	rowOf := make(map[int64]*listed, len(rows))
	for i := range rows {
		bare[i], rowOf[rows[i].Seq] = rows[i].Row, &rows[i]
	}
	records, err := r.Records(ctx, bare)
	all := make([]admin.HeldRecord, len(records))
	for i := range records {
		row := rowOf[records[i].Seq]
		all[i] = admin.HeldRecord{
			Record: records[i], Group: group, State: row.state, Waits: row.State == Wait,
			Attempts: row.Attempts, Errors: row.Errors, Reason: row.Reason, Since: row.Since,
		}
	}
	return all, err
}

// ByID returns the held and the dead records of a group with an id: at most the first most of
// either, and those with seqs.
func ByID(ctx context.Context, r Reader, group, id string, most int, seqs []int64) (held, dead []admin.HeldRecord, err error) {
	rows, err := firstByID(ctx, r, Query{In: []State{Retry, Wait, Parked}, ID: id, Limit: most}, seqs)
	if err != nil {
		return nil, nil, err
	}
	states, err := statesOf(ctx, r, rows)
	if err != nil {
		return nil, nil, err
	}
	found := stateless(rows)
	for i := range found {
		found[i].state = states[i]
	}
	if held, err = recordsOf(ctx, r, group, found); err != nil {
		return nil, nil, err
	}
	if rows, err = firstByID(ctx, r, Query{In: []State{Dead}, ID: id, Limit: most}, seqs); err != nil {
		return nil, nil, err
	}
	dead, err = recordsOf(ctx, r, group, stateless(rows))
	return held, dead, err
}

// firstByID returns the first rows that q selects, and those behind them with seqs.
func firstByID(ctx context.Context, r Reader, q Query, seqs []int64) ([]Row, error) {
	rows, err := r.Select(ctx, q)
	if err != nil || len(rows) < q.Limit || len(seqs) == 0 {
		return rows, err
	}
	q.From, q.Seqs, q.Limit = rows[len(rows)-1].Seq+1, seqs, 0
	more, err := r.Select(ctx, q)
	return append(rows, more...), err
}
