-- Whether a lock of this session lives as long as the connection. $1 is the process that the
-- connection was told when it began: if another one answers, a pooler stands between, which
-- gives sessions to others.
SELECT pg_backend_pid() = $1::bigint AND has_function_privilege('pg_catalog.pg_try_advisory_lock(bigint)'::text, 'EXECUTE'::text)
WHERE @{primary}
