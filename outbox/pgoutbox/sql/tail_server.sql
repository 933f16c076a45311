-- This database, and the running server that it is in. A server that was copied, restored or
-- replaced has the same system identifier and can have the same timeline, but it was not
-- started in the same microsecond.
SELECT extract(epoch FROM pg_postmaster_start_time())::text || ' ' || oid::text
FROM pg_database WHERE datname = current_database() AND @{primary}
