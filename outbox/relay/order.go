package relay

// Order is the delivery order that a relay guarantees.
type Order int

const (
	// OrderPerKey delivers the records of one topic and key in the order of their
	// commits; different keys do not wait for one another.
	OrderPerKey Order = iota
	// OrderTotal delivers one record after another, whatever its key, in the order
	// of the log. At a record that cannot be delivered it stops until it can: the
	// only Action is Block. It needs a Source with one slot.
	OrderTotal
)
