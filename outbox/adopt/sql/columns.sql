-- The columns of the table $1, and whether they may be NULL.
SELECT a.attname, NOT a.attnotnull
FROM pg_attribute a
WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped
  AND @{primary}
ORDER BY a.attnum
