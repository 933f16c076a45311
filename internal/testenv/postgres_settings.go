package testenv

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Unusual are settings of a database that change how texts are written, and what a statement
// may do. All of leat works with them, in every mode of pgx.
func Unusual() []string {
	return []string{
		"DateStyle = 'SQL, DMY'", "IntervalStyle = 'sql_standard'", "TimeZone = 'Asia/Kathmandu'", "bytea_output = 'escape'",
		"extra_float_digits = -15", "quote_all_identifiers = on", "default_transaction_deferrable = on",
		"default_transaction_isolation = 'serializable'", "lc_monetary = 'C'",
	}
}

// Set makes settings, such as "jit = off", those of all new sessions of the database. The
// connections of the pool that are not in use are opened again.
func (d *Database) Set(tb testing.TB, settings ...string) {
	tb.Helper()
	for _, setting := range settings {
		if _, err := d.Pool.Exec(context.Background(), "ALTER DATABASE "+pgx.Identifier{d.Name}.Sanitize()+" SET "+setting); err != nil {
			tb.Fatal(err)
		}
	}
	d.Pool.Reset()
}
