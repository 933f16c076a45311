-- Small tables that every relay writes all the time, whose dead rows vacuum has not removed. $1
-- is the schema, $2 is the outbox.
SELECT s.relid::regclass::text, s.n_dead_tup, s.n_live_tup
FROM pg_stat_all_tables s
WHERE s.schemaname = $1
  AND s.relname IN ($2 || '_leases', $2 || '_positions', $2 || '_groups', $2 || '_members', $2 || '_held', $2 || '_delayed')
  AND s.n_dead_tup > 10000 AND s.n_dead_tup > s.n_live_tup
ORDER BY s.n_dead_tup DESC
