package promleat

import (
	"errors"
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/outbox"
)

// errRegistered is wrapped by the error of New if the registry already has leat's metrics. One
// Metrics serves all outboxes, relays and inboxes of a process: share it.
var errRegistered = errors.New("leat: metrics are registered already")

// New returns a Metrics whose metrics are registered with reg. If reg already has leat's metrics,
// it returns an error that wraps outbox.ErrInvalidConfig; other errors are the registry's. After
// an error nothing is registered.
func New(reg prometheus.Registerer, cfg metrics.Config) (*metrics.Metrics, error) {
	if reg == nil {
		return nil, outbox.ConfigError("reg", nil, "must not be nil")
	}
	c := newCollector()
	m, err := metrics.New(c, cfg)
	if err != nil {
		return nil, err
	}
	if err := reg.Register(c); err != nil {
		if there, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
			return nil, fmt.Errorf("%w: make one Metrics a registry, and share it: %w", errRegistered, there)
		}
		return nil, fmt.Errorf("leat: register metrics: %w", err)
	}
	return m, nil
}

// collector is all metrics, as one collector: it is registered as a whole or not at all.
type collector struct {
	counters   map[string]*prometheus.CounterVec
	histograms map[string]*histograms
	gauges     map[string]*prometheus.Desc
	read       func(show func(d metrics.Definition, value float64, values ...string))
}

var (
	_ metrics.Backend      = (*collector)(nil)
	_ prometheus.Collector = (*collector)(nil)
)

func newCollector() *collector {
	c := &collector{
		counters: map[string]*prometheus.CounterVec{}, histograms: map[string]*histograms{},
		gauges: map[string]*prometheus.Desc{},
	}
	for _, d := range metrics.Table() {
		switch d.Kind {
		case metrics.KindCounter:
			c.counters[d.Name] = prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Name, Help: d.Help}, d.Labels)
		case metrics.KindHistogram:
			c.histograms[d.Name] = newHistograms(d)
		case metrics.KindGauge:
			c.gauges[d.Name] = prometheus.NewDesc(d.Name, d.Help, d.Labels, nil)
		}
	}
	return c
}

// Counter implements metrics.Backend.
func (c *collector) Counter(d metrics.Definition, values ...string) metrics.Counter {
	return c.counters[d.Name].WithLabelValues(values...)
}

// Histogram implements metrics.Backend.
func (c *collector) Histogram(d metrics.Definition, values ...string) metrics.Histogram {
	return c.histograms[d.Name].with(slices.Clone(values))
}

// Gauges implements metrics.Backend.
func (c *collector) Gauges(read func(show func(d metrics.Definition, value float64, values ...string))) error {
	c.read = read
	return nil
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, v := range c.counters {
		v.Describe(to)
	}
	for _, v := range c.histograms {
		v.Describe(to)
	}
	for _, desc := range c.gauges {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	for _, v := range c.counters {
		v.Collect(to)
	}
	for _, v := range c.histograms {
		v.Collect(to)
	}
	c.read(func(d metrics.Definition, value float64, values ...string) {
		to <- prometheus.MustNewConstMetric(c.gauges[d.Name], prometheus.GaugeValue, value, values...)
	})
}
