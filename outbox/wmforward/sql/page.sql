-- The rows of a page, by primary key, one probe each. They come in the order of
-- the arrays, which the caller checks: sorting would hold all of the page's bytes.
-- LIMIT keeps the planner from joining in another way. A row whose time is ahead, since it was
-- written in another time zone, counts as written now. A time of -infinity becomes the year 1.
-- The payloads end with the one with which they reach 32 MiB as they are stored: for that, only
-- their sizes are read. The rows behind it come without payload, as the last column shows. See
-- design 11.1.
SELECT w.n, w.uuid::text, greatest(least(w.created_at::timestamptz, clock_timestamp()), '0001-01-01 00:00:00+00'),
       CASE WHEN w.before < 33554432 THEN w.payload END, w.before < 33554432
FROM (SELECT k.n, r.uuid, r.created_at, r.payload,
             coalesce(sum(pg_column_size(r.payload)) OVER (ORDER BY k.n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
      FROM unnest($1::xid8[], $2::bigint[]) WITH ORDINALITY k (xid, no, n)
      CROSS JOIN LATERAL (
          SELECT * FROM {log} i WHERE i.transaction_id = k.xid AND i."offset" = k.no LIMIT 1
      ) r) w
WHERE @{primary}
