-- page.sql for a reader of some rows only: those of slot $6 of $5, and of topics
-- that are like one of $7 (NULL: all). The filter stands around the walk and not in it: inside,
-- the planner expects so few rows that it sorts the whole window for each page. $1 prev, $2
-- target, $3 greatest(last, floor), $4 limit.
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
WHERE w.shard % $5::smallint = $6::smallint AND ($7::text[] IS NULL OR w.topic LIKE ANY ($7::text[]))
ORDER BY w.seq
LIMIT $4 OFFSET (@{primary})::int - 1
