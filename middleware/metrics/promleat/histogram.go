package promleat

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/leat-go/leat/middleware/metrics"
)

// histograms are the series of one metric. The client's own histograms take one value at a time,
// with several atomic operations each; these take all values of a page under one lock, whose cost
// is negligible for a relay.
type histograms struct {
	desc   *prometheus.Desc
	bounds []float64

	mu     sync.Mutex
	series map[string]*histogram // by their values
}

var _ prometheus.Collector = (*histograms)(nil)

func newHistograms(d metrics.Definition) *histograms {
	return &histograms{
		desc: prometheus.NewDesc(d.Name, d.Help, d.Labels, nil), bounds: d.Buckets, series: map[string]*histogram{},
	}
}

// with returns the series with these values of the labels.
func (h *histograms) with(values []string) *histogram {
	key := strings.Join(values, "\xff") // a byte that no valid UTF-8 contains
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.series[key]
	if !ok {
		s = &histogram{values: values, bounds: h.bounds, counts: make([]uint64, len(h.bounds)+1)}
		h.series[key] = s
	}
	return s
}

// Describe implements prometheus.Collector.
func (h *histograms) Describe(to chan<- *prometheus.Desc) { to <- h.desc }

// Collect implements prometheus.Collector.
func (h *histograms) Collect(to chan<- prometheus.Metric) {
	h.mu.Lock()
	all := make([]*histogram, 0, len(h.series))
	for _, s := range h.series {
		all = append(all, s)
	}
	h.mu.Unlock()
	for _, s := range all {
		count, sum, below := s.read()
		to <- prometheus.MustNewConstHistogram(h.desc, count, sum, below, s.values...)
	}
}

// histogram is one series.
type histogram struct {
	values []string
	bounds []float64

	mu     sync.Mutex
	counts []uint64 // one per bound, and one for values above all of them
	sum    float64
}

var _ metrics.Histogram = (*histogram)(nil)

// Observe implements metrics.Histogram.
func (h *histogram) Observe(value float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts[h.place(value)]++
	h.sum += value
}

// ObserveAll implements metrics.Histogram. Consecutive values tend to be similar, so it first
// tries the place of the previous one.
func (h *histogram) ObserveAll(values []float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	place := 0
	for _, v := range values {
		if place == len(h.bounds) || v > h.bounds[place] || place > 0 && v <= h.bounds[place-1] {
			place = h.place(v)
		}
		h.counts[place]++
		h.sum += v
	}
}

// place returns the first bound that is not below the value.
func (h *histogram) place(value float64) int {
	for i, bound := range h.bounds {
		if value <= bound {
			return i
		}
	}
	return len(h.bounds)
}

// read returns the number of values, their sum, and the number of values not above each bound.
func (h *histogram) read() (count uint64, sum float64, below map[float64]uint64) {
	below = make(map[float64]uint64, len(h.bounds))
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, bound := range h.bounds {
		count += h.counts[i]
		below[bound] = count
	}
	return count + h.counts[len(h.bounds)], h.sum, below
}
