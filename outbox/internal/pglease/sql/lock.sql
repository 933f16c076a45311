-- The lock that lasts as long as this session and shows that owner $1 is alive. The server
-- releases it when the session ends, however that happens. It is free, since $1 is new. See
-- design 8.1.
SELECT pg_try_advisory_lock(hashtextextended($1::text, 0::bigint)) WHERE @{primary}
