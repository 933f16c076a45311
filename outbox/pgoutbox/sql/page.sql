-- Phase A of a window: rows above the floor that target sees and prev does not, by one walk of
-- the primary key that stops after the page. The two visibility conditions are the only ones on
-- xid: with xid >= xmax in addition, stale statistics made the planner sort the window for
-- every page. A payload that is larger than its share of 32 MiB is left out, and only its
-- header is read: page_large.sql fetches it if the page has room. @{primary} is evaluated once
-- in OFFSET, which is 0: in WHERE it costs each row a step. $1 prev, $2 target, $3
-- greatest(last, floor), $4 limit.
SELECT o.seq, o.created_at, o.occurred_at, o.id, o.shard, o.id_text, o.topic, o.key, o.type,
       CASE WHEN octet_length(o.payload) <= (SELECT 33554432 / $4::integer) THEN o.payload END AS payload, o.headers
FROM @{} o
WHERE o.seq > $3::bigint
  AND pg_visible_in_snapshot(o.xid, $2::pg_snapshot)
  AND NOT pg_visible_in_snapshot(o.xid, $1::pg_snapshot)
ORDER BY o.seq
LIMIT $4 OFFSET (@{primary})::int - 1
