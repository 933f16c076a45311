package pglog

import (
	"errors"
	"fmt"
	"slices"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/outbox/driver"
)

// Unusable marks err with driver.ErrSourceUnusable if it means that a position belongs to another
// log, or wraps one of fatal: errors that trying again cannot fix and that could lose messages if
// they were ignored. The error of a standby is not among them: it may be a failover in progress,
// which passes.
func Unusable(err error, fatal ...error) error {
	err = pgerr.Standby(err)
	if basis.IsMoved(err) || slices.ContainsFunc(fatal, func(f error) bool { return errors.Is(err, f) }) {
		return fmt.Errorf("%w: %w", driver.ErrSourceUnusable, err)
	}
	return err
}
