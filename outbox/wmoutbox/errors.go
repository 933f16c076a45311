package wmoutbox

import "errors"

var (
	// errMixedTransactions is returned when the messages of one Publish carry
	// different transactions: they could not be stored together or not at all.
	errMixedTransactions = errors.New("leat: the messages of one batch carry different transactions")

	// errPublishOnly is returned when a SchemaAdapter is asked to create tables or
	// to read messages: the outbox's own migrations create its tables, and a relay
	// reads them.
	errPublishOnly = errors.New("leat: this schema adapter only publishes in a transaction")
)
