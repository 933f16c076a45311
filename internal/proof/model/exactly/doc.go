// Package exactly models the exactly-once mode into Kafka (rule R12). Relays take over from one another at
// any moment, and the position is a record of the same transaction as the messages. A coordinator fences
// producers and decides transactions in two stages. The cluster refuses records, answers are lost, and
// requests arrive late. PostgreSQL has a copy of the position, and the database can go back, as after a
// failover that loses commits.
//
// Three records of one slot stand in the log; a transaction has one or two of them. A relay works under a
// lease. It must check the lease only once, before it makes the producer. At every later step the lease
// may be another relay's. The promises are about what a reader of committed records sees.
package exactly
