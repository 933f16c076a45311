package admin

import (
	"fmt"

	"github.com/leat-go/leat/internal/storable"
)

// Complete fills in the defaults of q, a query or a request of this package. The error wraps
// ErrInvalidRequest if q is invalid. An implementation of Inbox must call it at the start of each
// method.
func Complete(q interface{ complete() error }) error { return q.complete() }

// maxLimit bounds what one call lists or changes.
const maxLimit = 10_000

// limitOr returns limit, or its default if it is not set.
func limitOr(limit, byDefault int) (int, error) {
	if limit == 0 {
		return byDefault, nil
	}
	if limit < 1 || limit > maxLimit {
		return 0, fmt.Errorf("%w: Limit = %d: must be 1 to %d", ErrInvalidRequest, limit, maxLimit)
	}
	return limit, nil
}

// field is the name and the text of a field of a request.
type field struct {
	name, text string
}

// storableTexts returns an error for a text that a database does not accept. Ids and keys need no
// such check, since stores keep their bytes.
func storableTexts(fields ...field) error {
	for _, f := range fields {
		if storable.Text(f.text) != f.text {
			return fmt.Errorf("%w: %s = %.200q: must be valid UTF-8 without NUL", ErrInvalidRequest, f.name, f.text)
		}
	}
	return nil
}

// required returns an error for a text that is not storable, or empty.
func required(f field) error {
	if f.text == "" {
		return fmt.Errorf("%w: %s is empty", ErrInvalidRequest, f.name)
	}
	return storableTexts(f)
}
