-- Phase B of a window: rows of transactions that were under way in prev and had ended in
-- target, at or below the floor. It probes the (xid, seq) index once per transaction, so that
-- the cost depends on the rows found only. Written as xid = ANY(…), it was planned as a walk of
-- the whole index. Large payloads are left out, as in page.sql. $1 prev, $2 target, $3 last, $4
-- floor, $5 limit. See design 2.5.
SELECT o.seq, o.created_at, o.occurred_at, o.id, o.shard, o.id_text, o.topic, o.key, o.type,
       CASE WHEN octet_length(o.payload) <= (SELECT 33554432 / $5::integer) THEN o.payload END AS payload, o.headers
FROM (SELECT x FROM pg_snapshot_xip($1::pg_snapshot) x
      EXCEPT ALL
      SELECT x FROM pg_snapshot_xip($2::pg_snapshot) x) e
CROSS JOIN LATERAL (
    SELECT * FROM @{} i
    WHERE (i.xid, i.seq) > (e.x, $3::bigint) AND (i.xid, i.seq) <= (e.x, $4::bigint)
    ORDER BY i.xid, i.seq
    LIMIT $5
) o
ORDER BY o.seq
LIMIT $5 OFFSET (@{primary})::int - 1
