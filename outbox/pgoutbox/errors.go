package pgoutbox

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leat-go/leat/outbox"
)

// SQLSTATEs that tell what is wrong with the schema.
const (
	undefinedTable    = "42P01"
	undefinedColumn   = "42703"
	invalidSchemaName = "3F000"
)

// describe adds what a database error means for an outbox, where it is known.
func describe(err error) error {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pgErr.Code {
		case undefinedTable, undefinedColumn, invalidSchemaName:
			return fmt.Errorf("%w: %w", outbox.ErrNotMigrated, err)
		}
	}
	return err
}

// isNil says whether v is nil or an interface around a nil pointer.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}
