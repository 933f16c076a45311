-- Draws a transaction id: every transaction that has one already has a lower one.
SELECT pg_current_xact_id()::text::bigint
WHERE @{primary}
