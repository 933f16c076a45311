package pgunit

import (
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// firstRows are the rows of the statement that travelled with BEGIN.
type firstRows struct {
	pgx.Rows

	first pgx.BatchResults
}

// Close implements pgx.Rows.
func (r *firstRows) Close() {
	r.Rows.Close()
	_ = r.first.Close() // its error is that of the rows
}

// Next implements pgx.Rows.
func (r *firstRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

// Scan implements pgx.Rows.
func (r *firstRows) Scan(dest ...any) error {
	err := r.Rows.Scan(dest...)
	if err != nil {
		r.Close()
	}
	return err
}

// Values implements pgx.Rows.
func (r *firstRows) Values() ([]any, error) {
	values, err := r.Rows.Values()
	if err != nil {
		r.Close()
	}
	return values, err
}

// noRows are the rows of a statement that was not sent.
type noRows struct {
	pgx.Rows

	err error
}

// Close implements pgx.Rows.
func (noRows) Close() {}

// Err implements pgx.Rows.
func (r noRows) Err() error { return r.err }

// Next implements pgx.Rows.
func (noRows) Next() bool { return false }

// CommandTag implements pgx.Rows.
func (noRows) CommandTag() (tag pgconn.CommandTag) { return tag }

// FieldDescriptions implements pgx.Rows.
func (noRows) FieldDescriptions() []pgconn.FieldDescription { return nil }

// Scan implements pgx.Rows.
func (r noRows) Scan(...any) error { return r.err }

// Values implements pgx.Rows.
func (r noRows) Values() ([]any, error) { return nil, r.err }

// RawValues implements pgx.Rows.
func (noRows) RawValues() [][]byte { return nil }

// Conn implements pgx.Rows.
func (noRows) Conn() *pgx.Conn { return nil }

// onlyRow is the first row of rows, or the error of its query.
type onlyRow struct {
	rows pgx.Rows
	err  error
}

// Scan implements pgx.Row.
func (r onlyRow) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := r.rows.Scan(dest...); err != nil {
		return err
	}
	r.rows.Close()
	return r.rows.Err()
}
