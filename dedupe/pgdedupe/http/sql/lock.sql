-- A statement of its own: what look.sql reads must be read after the lock was
-- tried, or the response of whoever has just let go of it is missed.
SELECT pg_try_advisory_xact_lock($1), current_setting('synchronous_commit'), row_security_active(@{text:}::regclass)
WHERE @{primary}
