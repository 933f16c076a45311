-- What is wrong with the shape of leat's tables, and what fixes it. $1 is the schema, $2 are the
-- names that tables of leat begin with.
WITH tables AS (
    SELECT c.oid, c.oid::regclass::text AS name, c.relname, c.relkind, c.relispartition
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')
      AND EXISTS (SELECT FROM unnest($2::text[]) AS table_name WHERE c.relname = table_name OR starts_with(c.relname, table_name || '_'))
)
SELECT 'index ' || i.indexrelid::regclass || ' of ' || t.name || ' is invalid', 'REINDEX INDEX CONCURRENTLY ' || i.indexrelid::regclass
FROM tables t JOIN pg_index i ON i.indrelid = t.oid
WHERE NOT i.indisvalid
UNION ALL
SELECT 'partition ' || t.name || ' of ' || h.inhparent::regclass || ' was being detached, and is half detached since',
       format('ALTER TABLE %s DETACH PARTITION %s FINALIZE; maintenance does it, too', h.inhparent::regclass, t.name)
FROM tables t JOIN pg_inherits h ON h.inhrelid = t.oid
WHERE h.inhdetachpending
UNION ALL
SELECT 'range ' || t.name || ' is detached: what waits in it is passed over, and not read when it is attached again',
       'attach it, and replay what waited; or DROP TABLE ' || t.name
FROM tables t
WHERE t.relkind = 'r' AND NOT t.relispartition
  AND EXISTS (SELECT FROM unnest($2::text[]) AS log WHERE starts_with(t.relname, log || '_p') AND substr(t.relname, length(log) + 3) ~ '^[0-9]+$')
UNION ALL
SELECT t.name || ' has a DEFAULT partition ' || p.partdefid::regclass || ', which is read for every new range',
       format('move its rows, then ALTER TABLE %s DETACH PARTITION %s', t.name, p.partdefid::regclass)
FROM tables t JOIN pg_partitioned_table p ON p.partrelid = t.oid
WHERE p.partdefid <> 0
ORDER BY 1
