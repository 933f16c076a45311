SELECT pg_advisory_unlock(hashtextextended($1::text, 0::bigint)) WHERE @{primary}
