-- Ranges of the log that have rows and were never analyzed. $1 is the schema, $2 is the log.
SELECT s.relid::regclass::text, s.n_live_tup
FROM pg_inherits i
JOIN pg_class p ON p.oid = i.inhparent
JOIN pg_namespace n ON n.oid = p.relnamespace
JOIN pg_stat_all_tables s ON s.relid = i.inhrelid
WHERE n.nspname = $1 AND p.relname = $2
  AND s.n_live_tup > 1000 AND s.last_analyze IS NULL AND s.last_autoanalyze IS NULL
ORDER BY 1
