// Package sqlforward takes the place of Watermill's components/forwarder over the tables
// that watermill-sql's publisher writes on MySQL and MariaDB. Producers and tables stay as
// they are.
//
// A Forwarder moves messages from that table into the log of package sqloutbox, from
// which a relay sends them: it reads rows, enqueues what is in their envelopes, and stores
// how far it is, in one transaction. So each message is moved once, and all that an outbox
// has is there for it: parking, groups, replay, retention, operators' commands. Services
// that enqueue directly may share the outbox.
//
//	ob, err := sqloutbox.New(db, outbox.MySQL, sqloutbox.Config{})
//	f, err := sqlforward.New(db, outbox.MySQL, ob, sqlforward.Config{})
//	err = f.Migrate(ctx)
//	err = f.Run(ctx) // beside a relay on ob.Source
//
// # Order
//
// Messages of a key are moved in the order of their numbers ("offset") within one
// snapshot after the other. If producers take turns on a key before they publish, by
// locking the aggregate's row, that is the order of their commits. Otherwise neither the
// forwarder nor leat promises an order.
//
// # Numbers that are missing
//
// Numbers are drawn before the commit. So a position is the last number that was seen and
// the set of those below it that were not, and each look asks for those, too: nobody waits
// for an open transaction, and none is passed over. A number leaves the set when its row is
// moved, or when it is older than Config.GapAge and no transaction has a lock on it: what
// was rolled back.
//
// Stability: young, see docs/versions.md.
package sqlforward
