// Package sqloutbox is an outbox in MySQL, MariaDB or SQLite, on any *sql.DB. It imports no
// driver: that is the application's.
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
// The log numbers its rows as they are inserted, and transactions commit in another order.
// So a position is a number and the set of numbers below it that were not seen: those of
// transactions that were open, or were rolled back. Each Read looks at what is new and then
// into these gaps. Only a row takes a number out of the set. Nothing is forgotten by time,
// so no message is skipped, however long its transaction takes; and nobody waits for that
// transaction.
//
// Messages of one key are in the order of their commits, since Enqueue locks the key before
// it draws a number: by a row lock of one of 4,096 buckets, which lasts until the
// transaction ends. Two keys of one bucket wait for each other.
//
// InnoDB shows a commit before it is durable, and after a crash gives the numbers of lost
// rows to others. So, before records are handed out, a relay commits a write of its own,
// which is durable only after what was read. With the binary log synced at each commit
// (log_bin, sync_binlog=1) that is not needed, and not done.
//
// # Requirements
//
// MySQL 8.0 or MariaDB 10.6, on InnoDB, with one server that is written
// (auto_increment_increment=1), or SQLite in a file. The Check of a source says what else is
// missing. On SQLite, transactions lock as they begin, and wait for each other:
//
//	sql.Open("sqlite", "file:app.db?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
//
// An open transaction of the application then also holds up what relays write. Keep it far
// shorter than relay.Config.Lease.
//
// # What is not there
//
// Slots (driver.Sharded) and positions that a sink keeps (driver.Positioned): one relay of
// a group leads at a time, and delivers at least once.
//
// Stability: stable, see docs/versions.md.
package sqloutbox
