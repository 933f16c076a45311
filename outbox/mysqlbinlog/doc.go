// Package mysqlbinlog wakes relays when a transaction of any producer commits, on MySQL
// and MariaDB: it reads the server's binary log as a replica does.
//
// A relay over sqloutbox is woken by commits of its own process. Those of others (another
// process, another language, the mysql client) it finds by polling, up to
// relay.Config.PollMax later. With a Bell beside it, it finds them at once:
//
//	bell, err := mysqlbinlog.New(ob.Wake, mysqlbinlog.Config{DSN: dsn})
//	…
//	go bell.Run(ctx)
//
// A Bell rings and nothing more. The relay still reads the table, so a row that the log
// has not, or not yet, or has although it was taken back, does not matter: the log is written
// before a commit can be seen, at XA PREPARE, and not at all by a session that sets
// sql_log_bin to 0. What a Bell misses is found by polling.
//
// Stability: young, see docs/versions.md.
package mysqlbinlog
