package metrics

// Backend makes series for a monitoring system. The values of labels are in the order of
// Definition.Labels, and valid UTF-8. Metrics asks once for each counter and histogram with its
// values, and keeps the result. A Backend is safe for concurrent use.
type Backend interface {
	// Counter returns a counter, which is shown from now on, at 0.
	Counter(d Definition, values ...string) Counter
	// Histogram returns a histogram, which is shown from now on, with no values.
	Histogram(d Definition, values ...string) Histogram
	// Gauges passes the function that reads all gauges. It is called once, by New, which returns
	// its error. read may be called at any time from any goroutine, is cheap, and shows each
	// series once.
	Gauges(read func(show func(d Definition, value float64, values ...string))) error
}

// Counter only grows. It is safe for concurrent use.
type Counter interface {
	// Add adds n, an integer of 0 or more.
	Add(n float64)
}

// Histogram counts values by size. It is safe for concurrent use.
type Histogram interface {
	// Observe counts a value.
	Observe(value float64)
	// ObserveAll counts many values, which costs less than counting one by one. It does not keep
	// the slice.
	ObserveAll(values []float64)
}
