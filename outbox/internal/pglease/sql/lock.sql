-- The lock that lives with this session: it says that owner $1 lives. The server gives it back
-- when the session ends, however that happens. Held by nobody else, since $1 is new.
-- See design 8.1.
SELECT pg_try_advisory_lock(hashtextextended($1::text, 0::bigint)) WHERE @{primary}
