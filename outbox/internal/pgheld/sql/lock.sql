-- See rule R4.
SELECT pg_advisory_xact_lock($1)
WHERE @{primary}
