package relay

import (
	"fmt"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// Order is the delivery order that a relay guarantees.
type Order int

const (
	// OrderPerKey delivers the records of one topic and key in the order of their
	// commits; different keys do not wait for one another.
	OrderPerKey Order = iota
	// OrderTotal delivers one record after another in the order of the log, whatever
	// their keys. If a record cannot be delivered, it stops until that record can be: the
	// only Action is Block. It needs a Source with one slot.
	OrderTotal
)

// validate returns an error if o is not an order.
func (o Order) validate() error {
	if o != OrderPerKey && o != OrderTotal {
		return outbox.ConfigError("Order", int(o), "is not an order")
	}
	return nil
}

// checkSlots returns an error if a source with so many slots cannot keep the order.
func (o Order) checkSlots(slots int) error {
	if o != OrderTotal || slots == 1 {
		return nil
	}
	return fmt.Errorf("%w: %w", driver.ErrSourceUnusable, outbox.ConfigError("Order", "total",
		fmt.Sprintf("needs a source with one slot, this one has %d", slots)))
}
