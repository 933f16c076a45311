// Package mysqlbinlog wakes relays when a transaction of any producer commits, on MySQL
// and MariaDB: it reads the server's binary log as a replica does.
//
// A relay over sqloutbox is woken by commits of its own process. Commits of others (another
// process, another language, the mysql client) it finds by polling, up to relay.Config.PollMax
// later. With a Bell it finds them at once:
//
//	bell, err := mysqlbinlog.New(ob.Wake, mysqlbinlog.Config{DSN: dsn})
//	…
//	go bell.Run(ctx)
//
// A Bell only rings. The relay still reads the table, so it does not matter if the log lacks a
// row, has it late, or has a row that was rolled back: the log is written before a commit is
// visible, at XA PREPARE, and not at all by a session that sets sql_log_bin to 0. What a Bell
// misses is found by polling.
//
// Stability: young, see docs/versions.md.
package mysqlbinlog
