package kafkasink

import (
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// batchOverhead is the size of a record batch without its records, plus the length in front
	// of it, which the client counts and the broker does not.
	batchOverhead = 61 + 5

	// varintMax is the longest encoding of a 32-bit length.
	varintMax = 5
)

// fits reports whether r alone makes a batch of at most limit bytes. It is at least as strict as
// the client and the broker: if they refused a record, later ones could overtake it.
func fits(r *kgo.Record, limit int) bool {
	rough := batchOverhead + 8 + 3*varintMax + len(r.Key) + len(r.Value)
	for i := range r.Headers {
		rough += 2*varintMax + len(r.Headers[i].Key) + len(r.Headers[i].Value)
	}
	return rough <= limit || batchSize(r) <= limit
}

// batchSize returns the size of a batch with r alone.
func batchSize(r *kgo.Record) int {
	n := 1 + 1 + 1 // attributes, timestamp delta, offset delta
	n += field(len(r.Key)) + field(len(r.Value)) + kbin.VarintLen(clamp(len(r.Headers)))
	for i := range r.Headers {
		n += field(len(r.Headers[i].Key)) + field(len(r.Headers[i].Value))
	}
	return batchOverhead + field(n)
}

func field(n int) int {
	return kbin.VarintLen(clamp(n)) + n
}

func clamp(n int) int32 {
	return int32(min(n, 1<<31-1)) //nolint:gosec // bounded
}
