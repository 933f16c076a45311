SHOW GLOBAL VARIABLES WHERE Variable_name IN ('auto_increment_increment', 'read_only', 'innodb_read_only',
    'innodb_flush_log_at_trx_commit', 'innodb_doublewrite', 'log_bin', 'sync_binlog', 'binlog_format', 'wsrep_on',
    'group_replication_single_primary_mode', 'max_connections')
