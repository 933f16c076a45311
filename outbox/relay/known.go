package relay

import (
	"context"
	"sync"

	"github.com/leat-go/leat/outbox"
)

// Checker is a Sink that can say whether its destination as a whole answers. A
// relay asks it when a topic is out and no other has been acknowledged lately:
// where the whole destination is away, nothing is set aside.
type Checker interface {
	// Check returns nil if the destination answers.
	Check(ctx context.Context) error
}

// known are the topics that a term has read, sooner than it sends them. It is
// safe for concurrent use.
type known struct {
	mu     sync.Mutex
	topics map[string]struct{}
}

// mostRuns bounds how closely a page is looked at: this is done for every page.
const mostRuns = 8

// read notes the topics of a page, at the places where they change.
func (k *known) read(records []outbox.Record) {
	topic, runs := "", 0
	for i := range records {
		if records[i].Topic == topic {
			continue
		}
		topic = records[i].Topic
		k.add(topic)
		if runs++; runs == mostRuns {
			return
		}
	}
}

func (k *known) add(topic string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.topics == nil {
		k.topics = make(map[string]struct{})
	}
	k.topics[topic] = struct{}{}
}

func (k *known) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.topics)
}
