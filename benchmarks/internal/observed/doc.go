// Package observed contains the benchmark of what hooks and tracers cost a relay from PostgreSQL to Kafka.
// It has no rivals, so its results are not on the page. Run it with
//
//	leatenv run -services postgres,kafka -- go test -bench . ./internal/observed
package observed
