-- The end of what was written to the log. What had committed before is below it.
SELECT pg_current_wal_insert_lsn()::text
WHERE @{primary}
