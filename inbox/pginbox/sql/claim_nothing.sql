-- A transaction for a message that is not recorded.
SELECT current_setting('synchronous_commit') WHERE @{primary} AND ($1::bigint IS NULL OR pg_try_advisory_xact_lock($1::bigint))
