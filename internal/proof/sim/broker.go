package sim

import (
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// partitions is the number of partitions of a topic.
const partitions = 2

// entry is one copy of a record in the broker.
type entry struct {
	id, topic, key, payload string
}

// broker keeps a log for each partition.
type broker struct {
	w      *World
	logs   map[string][]entry // by partition
	away   map[string]time.Duration
	poison map[string]outbox.FailureKind // by id, the broker's answer to the record until it is fixed
	copies map[string]int
	told   map[string]int // by id, how often a sink was told that the record failed
}

func newBroker(w *World) *broker {
	return &broker{
		w: w, logs: make(map[string][]entry), away: make(map[string]time.Duration),
		poison: make(map[string]outbox.FailureKind), copies: make(map[string]int), told: make(map[string]int),
	}
}

// partition returns the partition of a key.
func partition(topic, key string) string {
	sum := 0
	for _, c := range []byte(key) {
		sum += int(c)
	}
	return topic + "-" + string(rune('0'+sum%partitions))
}

// append stores a copy of r.
func (b *broker) append(n *Node, r *outbox.Record, since time.Duration) {
	p := partition(r.Topic, r.Key)
	b.logs[p] = append(b.logs[p], entry{id: r.ID, topic: r.Topic, key: r.Key, payload: string(r.Payload)})
	b.copies[r.ID]++
	e := recordEvent(Landed, n, r)
	e.N, e.Since = int64(b.copies[r.ID]), since
	b.w.note(e)
	b.w.poke()
}

// sending is a call of a sink in progress.
type sending struct {
	b       *broker
	node    *Node
	began   time.Duration
	records []outbox.Record
	results []outbox.Result
	done    int
	stopped map[driver.Key]bool
}

// part delivers some of the records that are left.
func (s *sending) part() (progress, error) {
	left := len(s.records) - s.done
	n := left
	if left > 1 && !s.b.w.quick {
		n = left - int(s.b.w.choose(uint32(left))) //nolint:gosec // small
	}
	for range n {
		s.deliverNext(s.done)
		s.done++
	}
	if s.done < len(s.records) {
		return more, nil
	}
	return answered, nil
}

// deliverNext delivers record i, unless an earlier one of its key has failed.
func (s *sending) deliverNext(i int) {
	r := &s.records[i]
	key := keyOf(r)
	if s.stopped[key] && s.b.w.broken != SinkGoesOn {
		s.results[i] = outbox.NotSent()
		return
	}
	s.results[i] = s.b.deliver(s.node, r, s.began)
	if s.results[i].Err != nil && r.Key != "" {
		s.stopped[key] = true
	}
}

// deliver appends r unless something is wrong, and returns the answer for the client.
func (b *broker) deliver(n *Node, r *outbox.Record, since time.Duration) outbox.Result {
	kind, poisoned := b.poison[r.ID]
	switch {
	case b.away[r.Topic] > b.w.now():
		if b.w.broken == OutageUnnamed {
			return outbox.Failed(outbox.FailureUnknown, errRefused)
		}
		return outbox.Failed(outbox.FailureOutage, errRefused)
	case poisoned:
		return b.tell(n, r, kind, errRefused)
	case b.w.unlucky(60, Reject):
		if b.w.broken == AckEarly {
			return outbox.Result{}
		}
		return b.tell(n, r, outbox.FailureUnknown, errRefused)
	}
	b.append(n, r, since)
	if b.w.unlucky(60, Double) {
		b.append(n, r, since)
	}
	if b.w.unlucky(60, LoseAck) {
		return b.tell(n, r, outbox.FailureUnknown, errLost)
	}
	return outbox.Result{}
}

// tell notes that a record failed because of the record itself, and returns that result.
func (b *broker) tell(n *Node, r *outbox.Record, kind outbox.FailureKind, err error) outbox.Result {
	b.told[r.ID]++
	e := recordEvent(Failed, n, r)
	e.Note = kind.String()
	b.w.note(e)
	return outbox.Failed(kind, err)
}
