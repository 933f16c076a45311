-- Transactions that are open for longer than $1, the oldest first, and whether the caller sees
-- those of others at all: without pg_read_all_stats, their rows have no times.
SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') AS sees,
       a.pid, coalesce(a.usename::text, ''), coalesce(a.application_name, ''), clock_timestamp() - a.xact_start AS age
FROM (SELECT) one
LEFT JOIN pg_stat_activity a
    ON a.xact_start < clock_timestamp() - $1::interval AND a.pid <> pg_backend_pid() AND a.backend_type = 'client backend'
ORDER BY a.xact_start
LIMIT 10
