-- What Rebase would do with each message that this transaction sees. $1 the group; $2
-- whether its position is kept; if not, $3 where it starts over: 0 at the oldest, 1 now, 2
-- at the time $4. A message ahead has a transaction id that this server has not reached:
-- if the position is kept, no window finds it. One walk of the log, which leaves large
-- payloads alone.
WITH g AS MATERIALIZED (
    SELECT slots, topics, pg_snapshot_xmax(pg_current_snapshot()) AS next,
           CASE WHEN $3::int = 2 THEN (SELECT min(seq) FROM @{} WHERE created_at >= $4::timestamptz) END AS first
    FROM @{_groups} WHERE relay_group = $1
), s AS MATERIALIZED (
    SELECT DISTINCT ON (slot) slot, prev, target, last
    FROM @{_positions} WHERE relay_group = $1
    ORDER BY slot, window_no DESC
), m AS (
    SELECT o.xid >= g.next AS ahead,
           g.topics IS NULL OR EXISTS (
               SELECT FROM pg_catalog.unnest(g.topics) AS t(pattern)
               WHERE o.topic LIKE replace(replace(replace(replace(t.pattern, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%')) AS wanted,
           coalesce(pg_visible_in_snapshot(o.xid, s.prev)
                 OR pg_visible_in_snapshot(o.xid, s.target) AND o.seq <= s.last, false) AS settled,
           o.seq >= g.first AS since
    FROM @{} o CROSS JOIN g LEFT JOIN s ON s.slot = o.shard % g.slots
), p AS (
    SELECT ahead, wanted, settled,
           CASE WHEN $2::boolean THEN NOT settled AND NOT ahead ELSE $3::int = 0 OR $3::int = 2 AND coalesce(since, false) END AS sends
    FROM m
)
SELECT EXISTS (SELECT FROM g),
       count(*) FILTER (WHERE wanted AND sends), count(*) FILTER (WHERE wanted AND sends AND settled),
       count(*) FILTER (WHERE wanted AND NOT sends AND NOT settled), count(*) FILTER (WHERE ahead AND NOT $2)
FROM p
WHERE @{primary}
