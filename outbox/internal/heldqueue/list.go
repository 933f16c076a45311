package heldqueue

import (
	"context"

	"github.com/leat-go/leat/outbox/admin"
)

// ListParked returns parked records and those that wait behind a parked one of their key,
// ascending in Seq.
func ListParked(ctx context.Context, s Store, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	return list(ctx, s, q, func(r Reader, q admin.HeldQuery) ([]Row, error) {
		var found []Row
		for after := q.After; ; {
			page, err := r.Select(ctx, selecting(q, after, Parked, Wait))
			if err != nil || len(page) == 0 {
				return found, err
			}
			isBlocked, err := blocked(ctx, r, page)
			if err != nil {
				return nil, err
			}
			for i := range page {
				if page[i].State == Parked || isBlocked(&page[i]) {
					found = append(found, page[i])
				}
				if len(found) == q.Limit {
					return found, nil
				}
			}
			after = page[len(page)-1].Seq
		}
	})
}

// ListDead returns dead records, ascending in Seq.
func ListDead(ctx context.Context, s Store, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	return list(ctx, s, q, func(r Reader, q admin.HeldQuery) ([]Row, error) {
		return r.Select(ctx, selecting(q, q.After, Dead))
	})
}

func selecting(q admin.HeldQuery, after int64, in ...State) Query {
	return Query{In: in, Topics: q.Topic, Key: q.Key, From: after + 1, Limit: q.Limit}
}

// list returns what pick has picked, with the records.
func list(
	ctx context.Context, s Store, q admin.HeldQuery, pick func(r Reader, q admin.HeldQuery) ([]Row, error),
) (all []admin.HeldRecord, err error) {
	q, err = q.Complete()
	if err != nil {
		return nil, err
	}
	err = s.Look(ctx, q.Group, func(r Reader) error {
		rows, err := pick(r, q)
		if err != nil || len(rows) == 0 {
			return err
		}
		records, err := r.Records(ctx, rows)
		if err != nil {
			return err
		}
		rowOf := make(map[int64]*Row, len(rows))
		for i := range rows {
			rowOf[rows[i].Seq] = &rows[i]
		}
		for i := range records {
			row := rowOf[records[i].Seq]
			all = append(all, admin.HeldRecord{
				Record: records[i], Waits: row.State == Wait,
				Attempts: row.Attempts, Errors: row.Errors, Reason: row.Reason, Since: row.Since,
			})
		}
		return nil
	})
	return all, err
}
