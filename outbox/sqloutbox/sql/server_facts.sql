SELECT VERSION(), @@auto_increment_increment, @@innodb_flush_log_at_trx_commit, @@read_only, @@max_allowed_packet,
    @@log_bin AND @@binlog_format = 'STATEMENT',
    (SELECT COUNT(*) FROM @{_locks}),
    (SELECT COUNT(*) FROM information_schema.tables
     WHERE table_schema = DATABASE() AND table_name IN (?, ?, ?, ?, ?) AND engine <> 'InnoDB')
