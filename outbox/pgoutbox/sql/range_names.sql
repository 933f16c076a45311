-- Numbers in the names of the log's tables, for ranges that are attached or not.
SELECT coalesce(max(substr(c.relname, length($1) + 3)::bigint), 0)
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $2 AND starts_with(c.relname, $1::text || '_p') AND substr(c.relname, length($1) + 3) ~ '^[0-9]{1,12}$'
  AND @{primary}
