package testbed

import (
	"context"
	"slices"
	"sync"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// Log keeps the ids of effects, in order. It stands for the destination of a relay or a handler: a
// broker's topic, a read model. It is safe for concurrent use.
type Log struct {
	mu  sync.Mutex
	ids []string
}

// Add appends id and returns how many there are.
func (l *Log) Add(id string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids = append(l.ids, id)
	return len(l.ids)
}

// IDs returns the ids so far.
func (l *Log) IDs() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.ids)
}

// Sink returns a relay's sink that adds the id of each record.
func (l *Log) Sink() driver.Sink { return logSink{l} }

type logSink struct{ log *Log }

// Send implements driver.Sink.
func (s logSink) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	for i := range records {
		s.log.Add(records[i].ID)
	}
	return make([]outbox.Result, len(records))
}
