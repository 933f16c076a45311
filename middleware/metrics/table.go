package metrics

import "slices"

// Kind is how the values of a metric behave.
type Kind string

// The kinds of metrics.
const (
	// KindCounter only grows, from 0 at the start of the process.
	KindCounter Kind = "counter"
	// KindGauge is a value at the moment.
	KindGauge Kind = "gauge"
	// KindHistogram counts values by size.
	KindHistogram Kind = "histogram"
)

// Definition is a row of the table: one metric.
type Definition struct {
	// Name is the name in Prometheus.
	Name string
	// OTel is the name in OpenTelemetry.
	OTel string
	// Kind is how its values behave.
	Kind Kind
	// Unit is the unit in the notation of UCUM and OpenTelemetry: "s", "By", "1", or a counted
	// thing in braces.
	Unit string
	// Labels are the names of its labels, in the order in which values are given.
	Labels []string
	// Help is a sentence for operators.
	Help string
	// Buckets are the upper bounds of a histogram, ascending.
	Buckets []float64

	id id
}

// id is a row's place in the table.
type id int

// Table returns the definitions of all metrics, in the order of docs/metrics.md. Each call
// returns a copy.
func Table() []Definition {
	rows := slices.Concat(outboxRows(), relayRows(), consumerRows())
	for i := range rows {
		if rows[i].OTel == "" {
			rows[i].OTel = otelName(&rows[i])
		}
	}
	slices.SortFunc(rows, func(a, b Definition) int { return int(a.id) - int(b.id) })
	return rows
}

// The rows of the table.
const (
	outboxEnqueued id = iota
	outboxEnqueueErrors
	outboxEnqueueDuration
	outboxLag
	outboxOldest
	outboxBacklog
	outboxLeaseRemaining
	outboxPositionUnusable
	outboxHeld
	outboxDead
	outboxDelayed
	outboxLogBytes
	outboxRangesAhead
	outboxStatsErrors
	outboxRounds
	outboxLastRound
	outboxAlarms
	outboxAlarmActive

	relaySent
	relaySentBytes
	relayReadDuration
	relayPublishDuration
	relayDispatchLatency
	relaySettled
	relayHeld
	relayErrors
	relayAlarms
	relayAlarmActive
	relayLeaseHeld
	relayBreakerOpen
	relayLastAck
	clockOffset
	relayReplacements
	relayTail

	inboxDeliveries
	inboxDuration
	inboxEndToEnd
	inboxParked
	inboxFailing
	inboxStatsErrors
	inboxRounds
	inboxLastRound
	inboxAlarms
	sourceDeliveries
	sourceDeleted
	sourceWentBack
	handlerDuration
	dedupeDeliveries
	cacheLooks
)

// quick returns bounds for durations of milliseconds; slow returns those for durations of up to
// an hour.
func quick() []float64 {
	return []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
}

func slow() []float64 {
	return []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600}
}
