package pgoutbox

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/leat-go/leat/outbox"
)

// SQLSTATEs that tell what is wrong with the schema.
const (
	undefinedTable    = "42P01"
	undefinedColumn   = "42703"
	invalidSchemaName = "3F000"

	insufficientPrivilege = "42501"
)

// describe adds what a database error means for an outbox, where it is known.
func describe(err error) error {
	if sqlState(err, undefinedTable, undefinedColumn, invalidSchemaName) {
		return fmt.Errorf("%w: %w", outbox.ErrNotMigrated, err)
	}
	return err
}

// sqlState reports whether err is the database's, of whatever driver, with one of codes.
func sqlState(err error, codes ...string) bool {
	of, ok := errors.AsType[sqlStater](err)
	return ok && slices.Contains(codes, of.SQLState())
}

// sqlStater is an error of PostgreSQL, as pgx and lib/pq return it.
type sqlStater interface {
	error
	SQLState() string
}

// isNil says whether v is nil or an interface around a nil pointer.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}
