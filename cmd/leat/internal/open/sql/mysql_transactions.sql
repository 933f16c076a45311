SELECT t.trx_mysql_thread_id, COALESCE(p.user, '?'), TIMESTAMPDIFF(SECOND, t.trx_started, NOW())
FROM information_schema.innodb_trx t
LEFT JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
WHERE t.trx_started < NOW() - INTERVAL ? SECOND
ORDER BY t.trx_started
LIMIT 10
