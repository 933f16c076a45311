-- Of the transactions that have locked rows the oldest one, except this session's. It needs PROCESS.
SELECT trx_mysql_thread_id, GREATEST(0, TIMESTAMPDIFF(SECOND, trx_started, NOW()))
FROM information_schema.innodb_trx
WHERE trx_mysql_thread_id NOT IN (0, CONNECTION_ID()) AND trx_rows_locked > 0
ORDER BY trx_started
LIMIT 1
