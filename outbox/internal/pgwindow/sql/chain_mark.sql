-- A transaction that does nothing but to have an xid.
SELECT pg_current_xact_id()::text
WHERE @{primary}
