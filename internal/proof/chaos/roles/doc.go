// Package roles has what the processes of a chaos run do: a bank that makes transfers,
// the relay of its outbox, a ledger that books them behind an inbox, the relay of the
// ledger's own outbox, exactly once, and a notifier behind Redis.
//
// Each is written as a user of leat would write it. What is added serves the run: a
// process keeps a history, obeys the driver on its standard input, and tells it on its
// standard output what it has done and what it has noticed of a fault.
package roles
