-- The open transactions of this database, except this one.
SELECT coalesce(pg_catalog.array_agg(l.virtualtransaction), '{}')
FROM pg_locks l
JOIN pg_stat_activity a ON a.pid = l.pid
JOIN pg_database d ON d.oid = a.datid
WHERE d.datname = current_database() AND l.locktype = 'virtualxid' AND l.granted AND l.pid <> pg_backend_pid()
  AND @{primary}
