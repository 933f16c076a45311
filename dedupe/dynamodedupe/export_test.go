package dynamodedupe

// KeyOf is the key of an item.
var KeyOf = keyOf //nolint:gochecknoglobals // a function

// Grain is how much later than told DynamoDB's time may be.
const Grain = grain
