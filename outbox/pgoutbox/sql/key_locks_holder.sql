-- The backend other than $2 that holds one of the keys' locks $1: first one that does not wait
-- for a lock itself, then the one with the oldest transaction. A prepared transaction has no
-- backend. Columns that this role may not see are NULL.
-- shows
SELECT (l.classid::bigint << 32) | l.objid::bigint, coalesce(l.pid, 0), coalesce(a.application_name, ''), coalesce(a.state, ''),
       coalesce(extract(epoch FROM clock_timestamp() - a.xact_start), 0)::float8
FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted AND l.mode = 'ExclusiveLock'
  AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
  AND (l.classid::bigint << 32) | l.objid::bigint = ANY ($1) AND l.pid IS DISTINCT FROM $2
ORDER BY EXISTS (SELECT FROM pg_catalog.pg_locks w WHERE w.pid = l.pid AND NOT w.granted), a.xact_start
LIMIT 1
