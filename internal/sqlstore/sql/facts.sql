-- What a server does not know is left out. Values are texts: read_only is more than ON and
-- OFF on newer MariaDBs, and switches are 1 and 0 behind Vitess.
SHOW VARIABLES WHERE Variable_name IN ('version', 'autocommit', 'read_only', 'innodb_read_only',
    'transaction_isolation', 'tx_isolation', 'auto_increment_increment', 'max_allowed_packet',
    'innodb_flush_log_at_trx_commit', 'log_bin', 'sync_binlog', 'binlog_format', 'unique_checks')
