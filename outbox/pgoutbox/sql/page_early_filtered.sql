-- page_early.sql for a reader of some rows only: those of slot $7 of $6, and of
-- topics that are like one of $8 (NULL: all). The filter stands around the probe, as
-- in page_filtered.sql: inside, a transaction's rows are sorted for each page.
-- $1 prev, $2 target, $3 last, $4 floor, $5 limit.
SELECT o.seq, o.created_at, o.occurred_at, o.id, o.shard, o.id_text, o.topic, o.key, o.type,
       CASE WHEN octet_length(o.payload) <= (SELECT 33554432 / $5::integer) THEN o.payload END AS payload, o.headers
FROM (SELECT x FROM pg_snapshot_xip($1::pg_snapshot) x
      EXCEPT ALL
      SELECT x FROM pg_snapshot_xip($2::pg_snapshot) x) e
CROSS JOIN LATERAL (
    SELECT w.*
    FROM (SELECT * FROM @{} i
          WHERE (i.xid, i.seq) > (e.x, $3::bigint) AND (i.xid, i.seq) <= (e.x, $4::bigint)
          ORDER BY i.xid, i.seq
          OFFSET 0) w
    WHERE w.shard % $6::smallint = $7::smallint AND ($8::text[] IS NULL OR w.topic LIKE ANY ($8::text[]))
    ORDER BY w.xid, w.seq
    LIMIT $5
) o
ORDER BY o.seq
LIMIT $5 OFFSET (@{primary})::int - 1
