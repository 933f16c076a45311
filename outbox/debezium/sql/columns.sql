-- The columns of the table $1 with their types.
SELECT a.attname, format_type(a.atttypid, NULL)
FROM pg_attribute a
WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped
  AND @{primary}
