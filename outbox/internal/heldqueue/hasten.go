package heldqueue

import (
	"context"
	"slices"
	"time"
)

// Hasten makes at most limit rows due whose retry is due later than within from now, since a clock that was
// ahead has set their time. It returns their number.
func Hasten(ctx context.Context, tx Tx, within time.Duration, limit int) (n int, err error) {
	rows, err := Far(ctx, tx, within)
	rows = rows[:min(len(rows), limit)]
	for i := range rows {
		rows[i].Next = tx.Now()
	}
	if err == nil {
		err = store(rows, func(rows []Row) error { return tx.Update(ctx, rows) })
	}
	return len(rows), err
}

// Far returns the rows that Hasten would make due.
func Far(ctx context.Context, r Reader, within time.Duration) ([]Row, error) {
	rows, err := r.Select(ctx, Query{In: []State{Retry}})
	by := r.Now().Add(within)
	return slices.DeleteFunc(rows, func(row Row) bool { return !row.Next.After(by) }), err
}
