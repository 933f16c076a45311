package otelleat

import (
	"cmp"
	"context"
	"fmt"

	"go.opentelemetry.io/otel/metric"

	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/outbox"
)

// MetricsConfig tunes NewMetrics. The zero value is a good start.
type MetricsConfig struct {
	metrics.Config

	// System is the attribute messaging.system of the metrics that follow OpenTelemetry's
	// conventions for messaging. Defaults to "kafka".
	System string
}

// NewMetrics returns a Metrics whose instruments belong to provider. Create only one per
// provider: the API does not show whether there is another one, and two of them show each series
// twice. Errors wrap outbox.ErrInvalidConfig, or are the provider's.
func NewMetrics(provider metric.MeterProvider, cfg MetricsConfig) (*metrics.Metrics, error) {
	if provider == nil {
		return nil, outbox.ConfigError("provider", nil, "must not be nil")
	}
	cfg.System = cmp.Or(cfg.System, "kafka")
	b := &backend{
		meter: provider.Meter(scope), system: cfg.System, counters: map[string]metric.Int64Counter{},
		histograms: map[string]metric.Float64Histogram{}, gauges: map[string]metric.Float64ObservableGauge{},
	}
	for _, d := range metrics.Table() {
		if err := b.instrument(d); err != nil {
			return nil, fmt.Errorf("leat: instrument %s: %w", d.OTel, err)
		}
	}
	return metrics.New(b, cfg.Config)
}

// backend has an instrument for each row of the table.
type backend struct {
	meter      metric.Meter
	system     string
	counters   map[string]metric.Int64Counter
	histograms map[string]metric.Float64Histogram
	gauges     map[string]metric.Float64ObservableGauge
}

var _ metrics.Backend = (*backend)(nil)

func (b *backend) instrument(d metrics.Definition) (err error) {
	unit, help := metric.WithUnit(d.Unit), metric.WithDescription(d.Help)
	switch d.Kind {
	case metrics.KindCounter:
		b.counters[d.Name], err = b.meter.Int64Counter(d.OTel, unit, help)
	case metrics.KindHistogram:
		b.histograms[d.Name], err = b.meter.Float64Histogram(d.OTel, unit, help, metric.WithExplicitBucketBoundaries(d.Buckets...))
	case metrics.KindGauge:
		b.gauges[d.Name], err = b.meter.Float64ObservableGauge(d.OTel, unit, help)
	}
	return err
}

// Counter implements metrics.Backend.
func (b *backend) Counter(d metrics.Definition, values ...string) metrics.Counter {
	c := counter{b.counters[d.Name], []metric.AddOption{metric.WithAttributeSet(b.attributes(d, values))}}
	c.Add(0)
	return c
}

// Histogram implements metrics.Backend.
func (b *backend) Histogram(d metrics.Definition, values ...string) metrics.Histogram {
	return histogram{b.histograms[d.Name], []metric.RecordOption{metric.WithAttributeSet(b.attributes(d, values))}}
}

// Gauges implements metrics.Backend.
func (b *backend) Gauges(read func(show func(d metrics.Definition, value float64, values ...string))) error {
	all := make([]metric.Observable, 0, len(b.gauges))
	for _, g := range b.gauges {
		all = append(all, g)
	}
	_, err := b.meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		read(func(d metrics.Definition, value float64, values ...string) {
			to.ObserveFloat64(b.gauges[d.Name], value, metric.WithAttributeSet(b.attributes(d, values)))
		})
		return nil
	}, all...)
	if err != nil {
		return fmt.Errorf("leat: observe gauges: %w", err)
	}
	return nil
}

// counter is a counter with its attributes.
type counter struct {
	instrument metric.Int64Counter
	options    []metric.AddOption
}

// Add implements metrics.Counter. Measurements have no context: exemplars would need that of a
// delivery, which ends before its page does.
func (c counter) Add(n float64) { c.instrument.Add(context.Background(), int64(n), c.options...) }

// histogram is a histogram with its attributes.
type histogram struct {
	instrument metric.Float64Histogram
	options    []metric.RecordOption
}

// Observe implements metrics.Histogram.
func (h histogram) Observe(value float64) {
	h.instrument.Record(context.Background(), value, h.options...)
}

// ObserveAll implements metrics.Histogram.
func (h histogram) ObserveAll(values []float64) {
	for _, v := range values {
		h.Observe(v)
	}
}
