-- Tables that were detached and not dropped. A range is made and attached in one
-- transaction, so one that stands alone has been detached; $1 is the beginning of
-- its name, $2 the schema.
SELECT c.relname
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $2 AND c.relkind = 'r' AND NOT c.relispartition
  AND starts_with(c.relname, $1::text) AND substr(c.relname, length($1) + 1) ~ '^[0-9a-f]{12}[0-9a-z]*$'
  AND @{primary}
