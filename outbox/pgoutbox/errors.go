package pgoutbox

import (
	"fmt"
	"reflect"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/outbox"
)

// describe explains a database error in the context of an outbox, if it is known.
func describe(err error) error {
	if pgerr.MissingObject(err) {
		return fmt.Errorf("%w: %w", outbox.ErrNotMigrated, err)
	}
	return pgerr.Standby(err)
}

// isNil reports whether v is nil or an interface around a nil pointer.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}
