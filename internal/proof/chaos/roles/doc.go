// Package roles contains the processes of a chaos run: a bank that makes transfers, the relay of its
// outbox, a ledger that books the transfers behind an inbox, the relay of the ledger's own outbox, which
// sends exactly once, and a notifier behind Redis.
//
// Each is written as a user of leat would write it, with additions for the run: a process keeps a history
// and obeys the driver's commands, which it reads from its standard input. On its standard output it
// reports what it has done, and which consequences of a fault it has noticed.
package roles
