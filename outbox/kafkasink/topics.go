package kafkasink

import (
	"sync"

	"github.com/leat-go/leat/outbox"
)

// topic is the Sink's knowledge of a destination.
type topic struct {
	// known is set if the cluster was asked since the client was created. err, with its kind, is
	// set if the topic cannot take records now.
	known bool
	err   error
	kind  outbox.FailureKind
	cause error // the cluster's answer that led to err
	// absent is set if a Send has already waited for the topic without success.
	absent bool

	// asked is the round in which a record that was too large last made the Sink request the limit.
	asked uint64

	// limit bounds a batch; told is set if it came from the cluster.
	limit int
	told  bool

	// careful counts the records to send in separate batches, because the broker has rejected a
	// batch without naming the record.
	careful int
}

// topics holds the topics of a Sink. Only Send uses them, except for batchBytes, which the client
// calls from its own goroutine.
type topics struct {
	most int

	mu     sync.Mutex
	byName map[string]*topic
}

func newTopics(maxMessageBytes int) *topics {
	return &topics{most: maxMessageBytes, byName: make(map[string]*topic)}
}

// get returns the topic called name, and creates it if it is new.
func (t *topics) get(name string) *topic {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, ok := t.byName[name]
	if !ok {
		found = &topic{limit: t.bound(0)}
		t.byName[name] = found
	}
	return found
}

// mostTopics bounds the number of remembered topics that cannot take records.
const mostTopics = 50_000

// prune forgets the topics that cannot take records if there are too many: names come from
// messages, and there may be any number of them.
func (t *topics) prune() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.byName) < mostTopics {
		return
	}
	for name, of := range t.byName {
		if of.err != nil {
			delete(t.byName, name)
		}
	}
}

// forget makes the next Send ask again.
func (t *topics) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, known := range t.byName {
		known.known = false
	}
}

// setLimit stores the topic's max.message.bytes, 0 if the cluster did not report it, and reports
// whether its limit has grown.
func (t *topics) setLimit(of *topic, told int) (grown bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := of.limit
	of.limit, of.told = t.bound(told), told > 0
	if of.limit < before {
		// Rejected batches were larger than this; the rest fits.
		of.careful = 0
	}
	return of.limit > before
}

// bound returns the limit of a topic. told is its max.message.bytes if the cluster has reported
// it, else 0.
func (t *topics) bound(told int) int {
	switch {
	case told == 0 && t.most == 0:
		return defaultMaxMessageBytes
	case told == 0:
		return t.most
	case t.most == 0:
		return min(told, maxMessageBytes)
	default:
		return min(told, t.most)
	}
}

// batchBytes is the client's bound on the batches of a topic. The client asks
// once for every partition that it learns of.
func (t *topics) batchBytes(name string) int32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	limit := t.bound(0)
	if known, ok := t.byName[name]; ok {
		limit = known.limit
	}
	return int32(max(limit, minMessageBytes)) //nolint:gosec // at most maxMessageBytes
}

// legal reports whether name is a valid Kafka topic.
func legal(name string) bool {
	const longest = 249
	if name == "" || name == "." || name == ".." || len(name) > longest {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
