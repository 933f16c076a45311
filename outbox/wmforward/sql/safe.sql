-- The last position in the forwarder's order, (transaction_id, "offset"), before
-- which everything is settled: before the first visible row that is not, and
-- before whatever transactions under way may still bring. Behind it may be rows
-- that are settled all the same; they are counted.
-- $1 prev, $2 target, $3 last.
WITH first AS (
    SELECT i.transaction_id AS xid, i."offset" AS no
    FROM {log} i
    WHERE i.transaction_id >= pg_snapshot_xmin($1::pg_snapshot)
      AND NOT pg_visible_in_snapshot(i.transaction_id, $1::pg_snapshot)
      AND NOT (pg_visible_in_snapshot(i.transaction_id, $2::pg_snapshot) AND i."offset" <= $3::bigint)
    ORDER BY i.transaction_id, i."offset"
    LIMIT 1
), safe AS (
    SELECT least(f.xid, pg_snapshot_xmin(now)) AS xid,
           CASE WHEN f.xid < pg_snapshot_xmin(now) THEN f.no - 1 ELSE 0 END AS no
    FROM pg_current_snapshot() now LEFT JOIN first f ON true
)
SELECT s.xid, s.no,
       (SELECT count(*) FROM {log} i
        WHERE (i.transaction_id, i."offset") > (s.xid, s.no)
          AND (pg_visible_in_snapshot(i.transaction_id, $1::pg_snapshot)
               OR pg_visible_in_snapshot(i.transaction_id, $2::pg_snapshot) AND i."offset" <= $3::bigint))
FROM safe s
WHERE @{primary}
