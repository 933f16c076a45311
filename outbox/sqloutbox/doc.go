// Package sqloutbox is an outbox in MySQL, MariaDB or SQLite, on any *sql.DB. It imports no
// driver; the application does.
//
//	ob, err := sqloutbox.New(db, outbox.MySQL, sqloutbox.Config{})
//	err = ob.Migrate(ctx)
//	err = ob.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
//		// … the business rows, in tx …
//		return ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: id, Payload: payload})
//	})
//
// # How it reads
//
// The log numbers its rows as they are inserted, and transactions commit in another order. So a
// position is a number and the set of numbers below it that were not seen: those of transactions
// that were open, or were rolled back. Each Read reads new rows and then these gaps. Only a row
// removes a number from the set. Nothing expires, so no message is skipped, however long its
// transaction takes; and the relay does not wait for that transaction.
//
// Messages of one key are in the order of their commits, since Enqueue locks the key before
// it draws a number: by a row lock of one of 4,096 buckets, which lasts until the
// transaction ends. Two keys of one bucket wait for each other.
//
// InnoDB makes a commit visible before it is durable, and after a crash assigns the numbers of
// lost rows again. So, before it returns records, a relay commits its own write, which is durable
// only after what was read. With the binary log synced at each commit (log_bin, sync_binlog=1)
// that is not needed, and not done.
//
// # Requirements
//
// MySQL 8.0 or MariaDB 10.6, on InnoDB, with one server that is written to
// (auto_increment_increment=1), or SQLite in a file. The Check of a source reports what else is
// missing. On SQLite, transactions must lock as they begin, and wait for each other:
//
//	sql.Open("sqlite", "file:app.db?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
//
// An open transaction of the application then also holds up the relays' writes. Keep it far
// shorter than relay.Config.Lease.
//
// # Limitations
//
// There are no slots (driver.Sharded) and no positions that a sink keeps (driver.Positioned): one
// relay of a group leads at a time, and delivers at least once.
//
// Stability: stable, see docs/versions.md.
package sqloutbox
