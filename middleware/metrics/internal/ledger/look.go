package ledger

import (
	"maps"
	"strings"

	"github.com/leat-go/leat/middleware/metrics"
)

// All returns all series with their values. It panics if a gauge is shown twice.
func (l *Ledger) All() map[string]float64 {
	all := map[string]float64{}
	l.read(func(d metrics.Definition, value float64, values ...string) {
		name := seriesName(d, values)
		if _, twice := all[name]; twice || d.Kind != metrics.KindGauge {
			panic(name + " is shown twice, or is not a gauge")
		}
		all[name] = value
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.Copy(all, l.values)
	return all
}

// Of returns the series of one metric, by their labels.
func (l *Ledger) Of(metric string) map[string]float64 {
	found := map[string]float64{}
	for name, v := range l.All() {
		if labels, ok := strings.CutPrefix(name, metric+"{"); ok {
			found[strings.TrimSuffix(labels, "}")] = v
		}
	}
	return found
}

// Sum returns the sum of the values of a histogram's series.
func (l *Ledger) Sum(series string) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sums[series]
}

// Moved returns the names of the metrics that have a series other than 0.
func (l *Ledger) Moved() map[string]bool {
	names := map[string]bool{}
	for name, v := range l.All() {
		if v != 0 {
			metric, _, _ := strings.Cut(name, "{")
			names[metric] = true
		}
	}
	return names
}
