-- page_filtered.sql without the rows that a tail has delivered already: seqs $8. They are
-- looked up in a hash table, which the planner makes of NOT IN on every version. (With <> ALL
-- it compares each row with each number.) $1 prev, $2 target, $3 greatest(last, floor), $4
-- limit, $5 slots, $6 slot, $7 topics.
SELECT w.*
FROM (
    SELECT o.seq, o.created_at, o.occurred_at, o.id, o.shard, o.id_text, o.topic, o.key, o.type,
           CASE WHEN octet_length(o.payload) <= (SELECT 33554432 / $4::integer) THEN o.payload END AS payload, o.headers
    FROM @{} o
    WHERE o.seq > $3::bigint
      AND pg_visible_in_snapshot(o.xid, $2::pg_snapshot)
      AND NOT pg_visible_in_snapshot(o.xid, $1::pg_snapshot)
    ORDER BY o.seq
    OFFSET 0
) w
WHERE w.seq NOT IN (SELECT pg_catalog.unnest($8::bigint[]))
  AND w.shard % $5::smallint = $6::smallint AND ($7::text[] IS NULL OR w.topic LIKE ANY ($7::text[]))
ORDER BY w.seq
LIMIT $4 OFFSET (@{primary})::int - 1
