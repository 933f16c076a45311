-- A transaction that only draws an xid.
SELECT pg_current_xact_id()::text
WHERE @{primary}
