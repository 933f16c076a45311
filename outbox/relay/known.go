package relay

import (
	"sync"

	"github.com/leat-go/leat/outbox"
)

// known are topics that a term has read or sent: those that are out, and others. It is
// safe for concurrent use.
type known struct {
	mu      sync.Mutex
	up, out map[string]struct{}
}

const (
	// mostRuns bounds how closely a page is looked at while nothing is out.
	mostRuns = 8
	// mostUp bounds the topics that are remembered although they are not out: the
	// question is only whether there is one.
	mostUp = 1024
)

func newKnown() known {
	return known{up: make(map[string]struct{}), out: make(map[string]struct{})}
}

// read notes the topics of a page, at the places where they change: all of them while
// some are out, since one that is not may stand behind thousands that are.
func (k *known) read(records []outbox.Record) {
	k.mu.Lock()
	defer k.mu.Unlock()
	topic, runs := "", 0
	for i := range records {
		if records[i].Topic == topic {
			continue
		}
		topic = records[i].Topic
		k.add(topic)
		if runs++; runs == mostRuns && len(k.out) == 0 {
			return
		}
	}
}

// acked notes a topic of which something was acknowledged.
func (k *known) acked(topic string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.out, topic)
	k.add(topic)
}

// opened notes that a topic is out.
func (k *known) opened(topic string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.up, topic)
	k.out[topic] = struct{}{}
}

// add notes a topic that is not out, as far as is known. The caller holds mu.
func (k *known) add(topic string) {
	if _, out := k.out[topic]; !out && len(k.up) < mostUp {
		k.up[topic] = struct{}{}
	}
}

// elsewhere reports whether a topic is known that is not out.
func (k *known) elsewhere() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.up) > 0
}
