package metrics

import (
	"slices"
	"sync"

	"github.com/leat-go/leat/outbox"
)

// Metrics creates observers that all report to one Backend. Create one per process. It is safe
// for concurrent use.
type Metrics struct {
	cfg     Config
	backend Backend
	table   []Definition
	// topics, consumers, … bound the values that users choose.
	topics, consumers, groups, handlers, kinds *bound

	mu     sync.Mutex
	gauges map[*gauges]struct{}
}

// New returns a Metrics that reports to backend. Packages promleat and otelleat call it for their
// users. Errors wrap outbox.ErrInvalidConfig, or are the backend's.
func New(backend Backend, cfg Config) (*Metrics, error) {
	if backend == nil {
		return nil, outbox.ConfigError("backend", nil, "must not be nil")
	}
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	m := &Metrics{
		cfg: cfg, backend: backend, table: Table(), gauges: map[*gauges]struct{}{},
		topics: newBound(cfg.MaxValues), consumers: newBound(cfg.MaxValues), groups: newBound(cfg.MaxValues),
		handlers: newBound(cfg.MaxValues), kinds: newBound(cfg.MaxValues),
	}
	for _, topic := range cfg.Topics {
		m.topics.fit(topic)
	}
	return m, backend.Gauges(m.read)
}

func (m *Metrics) counter(row id, values ...string) Counter {
	return m.backend.Counter(m.table[row], values...)
}

func (m *Metrics) histogram(row id, values ...string) Histogram {
	return m.backend.Histogram(m.table[row], values...)
}

// counters returns a counter for each value of the last label.
func (m *Metrics) counters(row id, last []string, values ...string) map[string]Counter {
	all := make(map[string]Counter, len(last))
	for _, v := range last {
		all[v] = m.counter(row, append(slices.Clip(values), v)...)
	}
	return all
}
