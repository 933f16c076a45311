// Package ledger is a backend of package metrics that remembers all series, for tests.
package ledger

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/middleware/metrics"
)

// Ledger remembers series by name{label=value,…}. For a histogram it keeps the number of values
// and their sum.
type Ledger struct {
	mu     sync.Mutex
	values map[string]float64
	sums   map[string]float64
	read   func(show func(d metrics.Definition, value float64, values ...string))
}

var _ metrics.Backend = (*Ledger)(nil)

// New returns a Metrics and its Ledger.
func New(tb testing.TB, cfg metrics.Config) (*metrics.Metrics, *Ledger) {
	tb.Helper()
	l := &Ledger{values: map[string]float64{}, sums: map[string]float64{}}
	m, err := metrics.New(l, cfg)
	require.NoError(tb, err)
	return m, l
}

// Counter implements metrics.Backend.
func (l *Ledger) Counter(d metrics.Definition, values ...string) metrics.Counter {
	return l.series(d, metrics.KindCounter, values)
}

// Histogram implements metrics.Backend.
func (l *Ledger) Histogram(d metrics.Definition, values ...string) metrics.Histogram {
	return l.series(d, metrics.KindHistogram, values)
}

// Gauges implements metrics.Backend.
func (l *Ledger) Gauges(read func(show func(d metrics.Definition, value float64, values ...string))) error {
	l.read = read
	return nil
}

// series panics if the metric is of another kind or has other labels.
func (l *Ledger) series(d metrics.Definition, kind metrics.Kind, values []string) line {
	if d.Kind != kind {
		panic(d.Name + " is a " + string(d.Kind))
	}
	name := seriesName(d, values)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.values[name] += 0
	return line{l, name}
}

func seriesName(d metrics.Definition, values []string) string {
	if len(values) != len(d.Labels) {
		panic(fmt.Sprintf("%s has labels %v, not %v", d.Name, d.Labels, values))
	}
	pairs := make([]string, len(values))
	for i, v := range values {
		pairs[i] = d.Labels[i] + "=" + v
	}
	return d.Name + "{" + strings.Join(pairs, ",") + "}"
}

// line is one series.
type line struct {
	ledger *Ledger
	name   string
}

// Add implements metrics.Counter.
func (l line) Add(n float64) {
	l.ledger.mu.Lock()
	defer l.ledger.mu.Unlock()
	l.ledger.values[l.name] += n
}

// Observe implements metrics.Histogram.
func (l line) Observe(v float64) {
	l.ledger.mu.Lock()
	defer l.ledger.mu.Unlock()
	l.ledger.values[l.name]++
	l.ledger.sums[l.name] += v
}

// ObserveAll implements metrics.Histogram.
func (l line) ObserveAll(values []float64) {
	for _, v := range values {
		l.Observe(v)
	}
}
