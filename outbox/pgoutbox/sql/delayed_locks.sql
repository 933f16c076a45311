-- Tries the locks that Enqueue would wait for; the lock equal to $2 is shared.
SELECT h, CASE WHEN h = $2 THEN pg_try_advisory_xact_lock_shared(h) ELSE pg_try_advisory_xact_lock(h) END
FROM pg_catalog.unnest($1::bigint[]) AS h
WHERE @{primary}
