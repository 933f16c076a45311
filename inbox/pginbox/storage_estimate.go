package pginbox

import "math"

// bytesPerID is the measured size of an id of version 7 in the table and in its index: 93 bytes
// with one consumer, 119 with five that share the index.
const bytesPerID = 120

// StorageEstimate returns approximately how many bytes an inbox needs to remember messages that
// arrive at messagesPerSecond, for Retention. Add up the rates of all consumers. Ids of other
// versions need no more space, but write more WAL. It is 0 for a rate that is not positive, and
// at most math.MaxInt64.
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
