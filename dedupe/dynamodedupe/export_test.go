package dynamodedupe

// KeyOf is the key of an item.
var KeyOf = keyOf
