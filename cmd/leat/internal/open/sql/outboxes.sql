-- The outboxes of this database other than $1.$2, with their names as SQL writes them: logs that have a table of
-- positions.
SELECT c.oid::regclass::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'p' AND (n.nspname, c.relname) <> ($1, $2)
  AND (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname IN ('seq', 'shard', 'id_text', 'topic')) = 4
  AND EXISTS (SELECT FROM pg_class p WHERE p.relnamespace = c.relnamespace AND p.relname = c.relname || '_positions')
ORDER BY 1
LIMIT 10
