-- The highest number in the log, and the first xid that cannot have been assigned yet.
SELECT coalesce((SELECT max(seq) FROM @{}), 0), pg_snapshot_xmax(pg_current_snapshot())::text::bigint
WHERE @{primary}
