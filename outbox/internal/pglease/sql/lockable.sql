-- Whether a lock of this session lives as long as the connection. $1 is the process id that the
-- connection got when it began: if another process answers, there is a pooler in between, which
-- gives sessions to other clients.
SELECT pg_backend_pid() = $1::bigint AND has_function_privilege('pg_catalog.pg_try_advisory_lock(bigint)'::text, 'EXECUTE'::text)
WHERE @{primary}
