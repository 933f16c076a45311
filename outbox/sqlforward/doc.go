// Package sqlforward replaces Watermill's components/forwarder on the tables that watermill-sql's
// publisher writes on MySQL and MariaDB. Producers and tables do not change.
//
// A Forwarder moves messages from that table into the log of package sqloutbox, from which a
// relay sends them: it reads rows, enqueues the messages in their envelopes, and stores its
// position, in one transaction. So each message is moved once, and all features of an outbox
// apply to it: parking, groups, replay, retention, operators' commands. Services that enqueue
// directly may share the outbox.
//
//	ob, err := sqloutbox.New(db, outbox.MySQL, sqloutbox.Config{})
//	f, err := sqlforward.New(db, outbox.MySQL, ob, sqlforward.Config{})
//	err = f.Migrate(ctx)
//	err = f.Run(ctx) // next to a relay on ob.Source
//
// # Order
//
// Messages of a key are moved in the order of their numbers ("offset"), snapshot by snapshot. If
// producers take turns on a key before they publish, by locking the aggregate's row, that is the
// order of their commits. Otherwise neither the forwarder nor leat promises an order.
//
// # Numbers that are missing
//
// Numbers are drawn before the commit. So a position is the last number that was seen and the set
// of lower ones that were not, and each look reads those, too: the forwarder does not wait for
// open transactions, and skips none. A number leaves the set when its row is moved, or when it is
// older than Config.GapAge and no transaction has a lock on it: then it was rolled back.
//
// Stability: young, see docs/versions.md.
package sqlforward
