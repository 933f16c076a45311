package otelleat_test

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// readings is a provider that remembers instruments and what they were given.
type readings struct {
	noop.MeterProvider

	mu          sync.Mutex
	instruments map[string]instrument
	values      map[string]map[attribute.Distinct]float64 // sums, by instrument
	sets        map[attribute.Distinct]attribute.Set
	callback    metric.Callback
	observed    map[string]bool // instruments that the callback may observe
	refuse      string          // the instrument that cannot be made
}

type instrument struct {
	kind, unit, help string
	buckets          []float64
}

func newReadings() *readings {
	return &readings{
		instruments: map[string]instrument{}, values: map[string]map[attribute.Distinct]float64{},
		sets: map[attribute.Distinct]attribute.Set{}, observed: map[string]bool{},
	}
}

func (r *readings) Meter(string, ...metric.MeterOption) metric.Meter { return meter{readings: r} }

type meter struct {
	noop.Meter
	*readings
}

func (r *readings) note(name string, i instrument) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.instruments[name] = i
	r.values[name] = map[attribute.Distinct]float64{}
	if name == r.refuse {
		return errRefused
	}
	return nil
}

func (r *readings) add(name string, value float64, set attribute.Set) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sets[set.Equivalent()] = set
	r.values[name][set.Equivalent()] += value
}

func (m meter) Int64Counter(name string, o ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	c := metric.NewInt64CounterConfig(o...)
	return counter{r: m.readings, name: name}, m.note(name, instrument{kind: "counter", unit: c.Unit(), help: c.Description()})
}

func (m meter) Float64Histogram(name string, o ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	c := metric.NewFloat64HistogramConfig(o...)
	return histogram{r: m.readings, name: name}, m.note(name, instrument{"histogram", c.Unit(), c.Description(), c.ExplicitBucketBoundaries()})
}

func (m meter) Float64ObservableGauge(name string, o ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	c := metric.NewFloat64ObservableGaugeConfig(o...)
	return gauge{name: name}, m.note(name, instrument{kind: "gauge", unit: c.Unit(), help: c.Description()})
}

func (m meter) RegisterCallback(f metric.Callback, of ...metric.Observable) (metric.Registration, error) {
	m.callback = f
	for _, o := range of {
		m.observed[o.(gauge).name] = true
	}
	return noop.Registration{}, nil
}

type counter struct {
	noop.Int64Counter

	r    *readings
	name string
}

func (c counter) Add(_ context.Context, n int64, o ...metric.AddOption) {
	c.r.add(c.name, float64(n), metric.NewAddConfig(o).Attributes())
}

type histogram struct {
	noop.Float64Histogram

	r    *readings
	name string
}

func (h histogram) Record(_ context.Context, _ float64, o ...metric.RecordOption) {
	h.r.add(h.name, 1, metric.NewRecordConfig(o).Attributes())
}

type gauge struct {
	noop.Float64ObservableGauge

	name string
}

// observer takes what the callback observes.
type observer struct {
	noop.Observer

	r *readings
}

func (o observer) ObserveFloat64(g metric.Float64Observable, v float64, opts ...metric.ObserveOption) {
	o.r.add(g.(gauge).name, v, metric.NewObserveConfig(opts).Attributes())
}

// of returns the series of an instrument, by their attributes.
func (r *readings) of(name string) map[string]float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]float64{}
	for d, v := range r.values[name] {
		set := r.sets[d]
		all[set.Encoded(attribute.DefaultEncoder())] = v
	}
	return all
}
