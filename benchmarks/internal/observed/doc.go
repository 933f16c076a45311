// Package observed has the benchmark of the cost of hooks and tracers to a relay from PostgreSQL to
// Kafka. It has no rivals, so it is not part of the page. Run it with
//
//	leatenv run -services postgres,kafka -- go test -bench . ./internal/observed
package observed
