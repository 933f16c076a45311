package dynamodedupe

// KeyOf is the key of an item.
var KeyOf = keyOf

// Grain is how much later than told DynamoDB's time may be.
const Grain = grain
