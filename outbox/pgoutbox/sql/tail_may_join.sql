-- Whether all transactions below $1 have ended. One of them may have committed before the
-- stream began without being visible yet: then neither the stream nor the window that joins it
-- would have its rows, and a later row of a key could pass them.
SELECT pg_snapshot_xmin(pg_current_snapshot()) >= $1::bigint::text::xid8
WHERE @{primary}
