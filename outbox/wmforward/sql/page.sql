-- The rows of a page, by primary key, one probe each. They come in the order of
-- the arrays, which the caller checks: sorting would hold all of the page's bytes.
-- LIMIT keeps the planner from joining in another way. A row whose time is ahead,
-- since it was written in another time zone, counts as written now.
SELECT k.n, r.uuid::text, least(r.created_at::timestamptz, clock_timestamp()), r.payload
FROM unnest($1::xid8[], $2::bigint[]) WITH ORDINALITY k (xid, no, n)
CROSS JOIN LATERAL (
    SELECT * FROM {log} i WHERE i.transaction_id = k.xid AND i."offset" = k.no LIMIT 1
) r
