-- What keeps autovacuum from leat's tables: settings of the server, and of a table. $1 is the
-- schema, $2 are the names that tables of leat begin with.
SELECT name || ' is off', 'ALTER SYSTEM SET ' || name || ' = on; SELECT pg_reload_conf()'
FROM pg_settings
WHERE name IN ('autovacuum', 'track_counts') AND setting = 'off'
UNION ALL
SELECT format('%s has %s', c.oid::regclass, option), format('ALTER TABLE %s RESET (autovacuum_enabled)', c.oid::regclass)
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN unnest(c.reloptions) AS option
WHERE n.nspname = $1
  AND EXISTS (SELECT FROM unnest($2::text[]) AS table_name WHERE c.relname = table_name OR starts_with(c.relname, table_name || '_'))
  AND lower(option) IN ('autovacuum_enabled=off', 'autovacuum_enabled=false', 'autovacuum_enabled=no', 'autovacuum_enabled=0')
ORDER BY 1
