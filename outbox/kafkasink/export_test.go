package kafkasink

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
)

// Internals that tests look at.
var (
	BatchSize = batchSize
	Classify  = classify
	Legal     = legal
	Listed    = listed
	Writable  = writable
)

// PartitionerOf returns the partitioner of p, and what begins its next call.
func PartitionerOf(p Partitioner) (kgo.Partitioner, func()) {
	made := newPartitioner(p)
	return made, made.next
}

// Client returns the client of s, nil after a failure.
func Client(s *Sink) *kgo.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

// BeforePartition makes s call hook before it places a record with a key, with
// the record's number from 0. It must not have sent anything yet.
func BeforePartition(s *Sink, hook func(n int)) {
	s.partitioner.keyed = hooked{s.partitioner.keyed, hook}
}

type hooked struct {
	kgo.Partitioner

	hook func(n int)
}

func (h hooked) ForTopic(topic string) kgo.TopicPartitioner {
	return &hookedTopic{h.Partitioner.ForTopic(topic), h.hook, 0}
}

type hookedTopic struct {
	kgo.TopicPartitioner

	hook func(n int)
	n    int
}

func (h *hookedTopic) Partition(r *kgo.Record, n int) int {
	h.hook(h.n)
	h.n++
	return h.TopicPartitioner.Partition(r, n)
}

// LaneClient returns the client of a slot, nil after a failure.
func LaneClient(t *Transactional, slot string) *kgo.Client {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Client(t.lanes[slot].sink)
}

// Produced returns what a transaction of slot produces.
func Produced(t *Transactional, slot string, records []outbox.Record, position []byte) []kgo.Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lanes[slot]
	l.sink.page.reset(len(records) + 1)
	for i := range records {
		l.sink.page.add(i, &records[i])
	}
	return append(slices.Clone(l.sink.page.records), l.positionRecord(position))
}

// Drop closes the client of s, as a failure does.
func Drop(s *Sink) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
}

var (
	ErrNotFenced   = errNotFenced
	ErrNoPartition = errNoPartition
)
