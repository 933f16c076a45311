// Package roles has the processes of a chaos run: a bank that makes transfers, the relay of its
// outbox, a ledger that books them behind an inbox, the relay of the ledger's own outbox, exactly
// once, and a notifier behind Redis.
//
// Each is written as a user of leat would write it, with additions for the run: a process keeps a
// history, obeys the driver on its standard input, and reports on its standard output what it has
// done and which consequences of a fault it has noticed.
package roles
