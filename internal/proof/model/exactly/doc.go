// Package exactly models the exactly-once mode into Kafka (rule R12): relays that take
// over from one another at any moment, a position that is a record of the same
// transaction as the messages, a coordinator that fences producers and decides
// transactions in two stages, records that the cluster refuses, answers that are lost,
// requests that arrive late, a copy of the position in PostgreSQL, and a database that goes
// back, as after a failover that loses commits.
//
// Three records of one slot stand in the log; a transaction has one or two of them. A relay works
// under a lease. It must check the lease only once, before it makes the producer. At every later
// step the lease may be another relay's. The promises are about what a reader of committed records
// sees.
package exactly
