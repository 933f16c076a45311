// Package observed has the benchmark of what it costs a relay to be observed, from
// PostgreSQL to Kafka. It has no rivals, so that it is not part of the page: run it with
//
//	leatenv run -services postgres,kafka -- go test -bench . ./internal/observed
package observed
