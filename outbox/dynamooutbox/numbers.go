package dynamooutbox

import (
	"math/rand/v2"
	"sync"
	"time"
)

// A number is, from its highest bit, 41 bits of milliseconds since 2020, 16 bits that begin at
// random in each millisecond, and 6 bits of the bucket. So numbers of all processes are unique
// within a bucket in practice; if not, the message is refused and numbered anew. Numbers of two
// buckets always differ. The location of an item follows from its number.
const (
	bucketBits = 6
	randomBits = 16
	maxBuckets = 1 << bucketBits
)

// epochMillis is 2020-01-01 in milliseconds.
const epochMillis = 1_577_836_800_000

// numbers draws numbers, ascending in this process.
type numbers struct {
	mu   sync.Mutex
	last int64 // without its bucket
}

// next returns a number that is greater than all that were drawn before, and greater than after.
func (n *numbers) next(bucket int, after int64) int64 {
	//nolint:gosec // not a secret: it keeps the numbers of processes apart
	now := (time.Now().UnixMilli()-epochMillis)<<randomBits | rand.Int64N(1<<(randomBits-1))
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = max(n.last+1, now, after>>bucketBits+1)
	return n.last<<bucketBits | int64(bucket)
}

// bound returns a number that is less than all numbers that this clock yields later.
func (n *numbers) bound() int64 {
	return n.next(0, 0)
}

// bucketOf returns the bucket of a number.
func bucketOf(seq int64) int {
	return int(seq & (maxBuckets - 1))
}
