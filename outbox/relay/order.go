package relay

// Order says what a relay delivers in which order.
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

// TotalOrderer is a Sink that keeps the order of a whole call: behind a record
// that failed it delivers nothing, whatever its key. With another Sink a relay
// under OrderTotal sends one record a call.
type TotalOrderer interface {
	// TotalOrder says whether the sink does so.
	TotalOrder() bool
}
