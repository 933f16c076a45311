// Package leases models the leases of package dedupe on Redis: one message whose effect
// lies outside of any transaction, up to three runs with tokens of their own, requests
// that are carried out late or twice, answers that are lost, runs that pause, crash and
// fail, records that are lost or forgotten, and a clock that steps back.
//
// Each request is one atomic step of the server. Time is not counted; what is kept of
// it is order: by a run's own clock the lease is over before the server lets it
// run out, unless the run has paused. How many effects there are is promised only where
// nothing has gone wrong. That none is lost is promised always.
package leases
