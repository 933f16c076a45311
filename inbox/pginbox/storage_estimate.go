package pginbox

import "math"

// bytesPerID is what an id of version 7 costs in the table and in its index, as
// measured: 93 bytes with one consumer, 119 with five that share the index.
const bytesPerID = 120

// StorageEstimate returns about how many bytes an inbox needs to remember the messages
// that come at messagesPerSecond, for Retention: add up the rates of all consumers. Ids of
// other versions need no more, but write more of the server's log. It is 0 for a rate that
// is not positive, and at most math.MaxInt64.
func (c MaintenanceConfig) StorageEstimate(messagesPerSecond float64) int64 {
	bytes := messagesPerSecond * c.withDefaults().Retention.Seconds() * bytesPerID
	switch {
	case !(bytes > 0):
		return 0
	case bytes >= math.MaxInt64:
		return math.MaxInt64
	default:
		return int64(bytes)
	}
}
