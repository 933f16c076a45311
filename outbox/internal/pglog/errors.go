package pglog

import (
	"errors"
	"fmt"

	"github.com/leat-go/leat/outbox/driver"
)

// Unusable marks err with driver.ErrSourceUnusable if it wraps one of fatal: errors that
// trying again cannot mend and that could lose messages if they were ignored.
func Unusable(err error, fatal ...error) error {
	for _, f := range fatal {
		if errors.Is(err, f) {
			return fmt.Errorf("%w: %w", driver.ErrSourceUnusable, err)
		}
	}
	return err
}
