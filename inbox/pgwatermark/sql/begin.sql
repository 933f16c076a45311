-- First in a transaction that changes sources or adds watermarks: one at a time.
SELECT current_setting('synchronous_commit') FROM pg_advisory_xact_lock($1::bigint)
WHERE @{primary}
