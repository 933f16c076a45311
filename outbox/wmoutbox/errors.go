package wmoutbox

import "errors"

var (
	// ErrMixedTransactions is returned when the messages of one Publish carry
	// different transactions: they could not be stored together or not at all.
	ErrMixedTransactions = errors.New("leat: the messages of one batch carry different transactions")

	// ErrPublishOnly is returned when a SchemaAdapter is asked to create tables or
	// to read messages: the outbox's own migrations create its tables, and a relay
	// reads them.
	ErrPublishOnly = errors.New("leat: this schema adapter only publishes in a transaction")
)
