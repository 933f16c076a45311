-- A statement of its own: what look.sql reads must be read after the lock was tried, or it
-- would miss the response of a request that has just released the lock.
SELECT pg_try_advisory_xact_lock($1), current_setting('synchronous_commit'), row_security_active(@{text:}::regclass)
WHERE @{primary}
