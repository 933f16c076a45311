-- Whether all transactions below $1 have ended. Of those, a row may have been committed
-- before the stream began and be seen by nobody yet: then neither the stream nor the window
-- that joins it would have it, and a later row of its key could pass it.
SELECT pg_snapshot_xmin(pg_current_snapshot()) >= $1::bigint::text::xid8
WHERE @{primary}
