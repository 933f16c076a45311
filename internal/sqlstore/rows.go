package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Querier is a pool, a connection or a transaction.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Scanner reads the columns of a row.
type Scanner func(into ...any) error

// ErrEnough ends Each without an error.
var ErrEnough = errors.New("enough")

// Each calls f with each row of a query, up to its first error.
func Each(ctx context.Context, q Querier, f func(scan Scanner) error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := f(rows.Scan); errors.Is(err, ErrEnough) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return rows.Err()
}

// Column returns the first column of all rows.
func Column[T any](ctx context.Context, q Querier, query string, args ...any) (all []T, err error) {
	err = Each(ctx, q, func(scan Scanner) error {
		var value T
		err := scan(&value)
		all = append(all, value)
		return err
	}, query, args...)
	return all, err
}

// Written runs a statement and returns the number of rows that it has written.
func Written(ctx context.Context, q Querier, statement string, args ...any) (int64, error) {
	result, err := q.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// IsNoRows reports whether a query has found no row.
func IsNoRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// Anys returns values as parameters.
func Anys[T any](values []T) []any {
	all := make([]any, len(values))
	for i := range values {
		all[i] = values[i]
	}
	return all
}

// Time returns the time of microseconds since 1970, zero for 0.
func Time(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// Bytes returns b as a value that is not NULL: drivers store a nil slice as NULL.
func Bytes(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
