package kafkasource

import (
	"hash/fnv"

	"github.com/twmb/franz-go/pkg/kgo"
)

// SaramaPartitioner places keys as sarama's default partitioner does, and with it
// watermill-kafka's publisher: FNV-1a. Give it to the Publisher of a topic that
// watermill-kafka writes as well, so that a key stays in one partition:
//
//	kafkasource.PublisherConfig{Options: []kgo.Opt{kgo.RecordPartitioner(kafkasource.SaramaPartitioner())}}
//
// Messages without a key stay with a partition for a batch. The outbox's sink has
// kafkasink.PartitionSarama.
func SaramaPartitioner() kgo.Partitioner {
	return kgo.StickyKeyPartitioner(kgo.SaramaCompatHasher(func(key []byte) uint32 {
		h := fnv.New32a()
		_, _ = h.Write(key)
		return h.Sum32()
	}))
}
