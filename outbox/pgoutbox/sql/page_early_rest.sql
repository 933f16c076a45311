-- page_early_filtered.sql without the rows that a tail has delivered already: seqs $9. See
-- page_rest.sql. $1 prev, $2 target, $3 last, $4 floor, $5 limit, $6 slots, $7 slot, $8 topics.
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
    WHERE w.seq NOT IN (SELECT pg_catalog.unnest($9::bigint[]))
      AND w.shard % $6::smallint = $7::smallint AND ($8::text[] IS NULL OR w.topic LIKE ANY ($8::text[]))
    ORDER BY w.xid, w.seq
    LIMIT $5
) o
ORDER BY o.seq
LIMIT $5 OFFSET (@{primary})::int - 1
