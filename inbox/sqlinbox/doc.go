// Package sqlinbox is an inbox on database/sql: MySQL, MariaDB and SQLite. The id of a
// message is recorded in the transaction in which its handler writes, a *sql.Tx.
//
//	in, err := sqlinbox.New(db, outbox.MySQL, "loyalty", sqlinbox.Config{})
//	err = in.Migrate(ctx)
//	once, err := middleware.NewInbox(middleware.InboxConfig{For: in.For, Outbox: ob})
//	router.AddMiddleware(once)
//
// One inbox remembers the messages of one handler. For returns an inbox for each handler of a
// router, by its name. With Handle, and with a handler's own AddMiddleware, use the inbox itself.
//
// The caller provides the pool and the driver: this package imports none. A message costs one
// small row, and two round trips beyond those of the bare transaction: the claim, and a check
// before COMMIT that the transaction is still the same one. With go-sql-driver/mysql, set
// interpolateParams=true: otherwise each statement costs two.
//
// On MySQL and MariaDB two deliveries of a message at the same time do not wait for each
// other: one is Busy at once. Ids share 4,096 locks, so that now and then one of two
// different messages is Busy, too, and is delivered again.
//
// SQLite has one writer at a time: deliveries follow one another, and each waits for those before
// it for as long as the busy_timeout of the connections allows, not 0. If that passes, the
// delivery fails with the driver's error and must be delivered again. Transactions must take the
// lock when they begin (_txlock=immediate in the driver modernc.org/sqlite), and be durable
// (synchronous FULL).
//
// A handler must return the errors of its statements. After some of them, such as a deadlock, the
// database has rolled the transaction back, and the handler's next writes commit by themselves.
// The inbox notices that before COMMIT, and the message fails with driver.ErrEnded, but the inbox
// cannot undo these writes. On MySQL and MariaDB, a handler must not run statements that commit
// implicitly, such as CREATE TABLE.
//
// Stability: stable, see docs/versions.md.
package sqlinbox
