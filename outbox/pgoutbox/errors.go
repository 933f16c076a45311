package pgoutbox

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

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

// sqlState says whether err is the database's, with one of codes.
func sqlState(err error, codes ...string) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return ok && slices.Contains(codes, pgErr.Code)
}

// isNil says whether v is nil or an interface around a nil pointer.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}
