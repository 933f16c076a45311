package kafkasink

import (
	"math/rand/v2"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
)

// stickyBytes is how much of the records without a key goes to one partition
// before the next.
const stickyBytes = 64 << 10

// partitioner places records with a key by its hash and the others in turns. For a whole call it
// keeps the number of partitions that it saw first: if a topic grew in between, a key's records
// would go to two partitions at once, and a failure in one would not hold back the other.
type partitioner struct {
	keyed kgo.Partitioner
	round atomic.Uint64

	// fixed: all records of this topic go to partition at. Empty for none.
	fixed string
	at    int
}

func newPartitioner(p Partitioner) *partitioner {
	if p == PartitionSarama {
		return &partitioner{keyed: kgo.StickyKeyPartitioner(kgo.SaramaCompatHasher(fnv1a))}
	}
	return &partitioner{keyed: kgo.StickyKeyPartitioner(nil)}
}

// fix sends all records of topic to one partition. Call it before the first client
// is made.
func (p *partitioner) fix(topic string, partition int32) {
	p.fixed, p.at = topic, int(partition)
}

// fixedPartition is the partitioner of a topic whose records all go to one
// partition.
type fixedPartition int

// RequiresConsistency implements kgo.TopicPartitioner.
func (fixedPartition) RequiresConsistency(*kgo.Record) bool { return true }

// Partition implements kgo.TopicPartitioner.
func (f fixedPartition) Partition(*kgo.Record, int) int { return int(f) }

// next begins a new call.
func (p *partitioner) next() {
	p.round.Add(1)
}

// ForTopic implements kgo.Partitioner.
func (p *partitioner) ForTopic(topic string) kgo.TopicPartitioner {
	if topic == p.fixed && topic != "" {
		return fixedPartition(p.at)
	}
	return &topicPartitioner{parent: p, keyed: p.keyed.ForTopic(topic), at: -1}
}

type topicPartitioner struct {
	parent *partitioner
	keyed  kgo.TopicPartitioner

	round uint64
	count int

	at    int
	bytes int
}

// RequiresConsistency implements kgo.TopicPartitioner: a key's partition does not depend on which
// partitions are writable.
func (t *topicPartitioner) RequiresConsistency(r *kgo.Record) bool {
	return r.Key != nil
}

// Partition implements kgo.TopicPartitioner.
func (t *topicPartitioner) Partition(r *kgo.Record, n int) int {
	if r.Key == nil {
		return t.sticky(len(r.Value), n)
	}
	if round := t.parent.round.Load(); t.count == 0 || round != t.round || t.count > n {
		t.round, t.count = round, n
	}
	return t.keyed.Partition(r, t.count)
}

func (t *topicPartitioner) sticky(size, n int) int {
	switch {
	case t.at < 0:
		t.at = rand.IntN(n) //nolint:gosec // spreads load, not for security
	case t.bytes >= stickyBytes:
		t.at, t.bytes = t.at+1, 0
	}
	if t.at >= n {
		t.at = 0
	}
	t.bytes += size
	return t.at
}

// fnv1a is the 32-bit FNV-1a hash of key.
func fnv1a(key []byte) uint32 {
	const offset, prime = 2166136261, 16777619
	h := uint32(offset)
	for _, b := range key {
		h = (h ^ uint32(b)) * prime
	}
	return h
}
