-- The approximate age of each group's oldest unsettled message. One row of each kind is read
-- per slot, however far behind it is and however old the oldest transaction is. The kinds are
-- rows of transactions that were under way in prev or target, rows above the floor of the
-- window that will follow, and rows of the newest window above its floor. Of the last kind only
-- the next rows past its last are looked at, so that the age can be understated, never
-- overstated.
-- shows
SELECT n.relay_group,
       (extract(epoch FROM statement_timestamp() - min(x.created_at)) * 1000000.0)::bigint AS lag,
       (extract(epoch FROM min(g.max_lag)) * 1000000.0)::bigint AS max_lag,
       coalesce(min(x.seq), 0) AS oldest,
       coalesce(min(n.problem), '') AS problem
FROM newest n
LEFT JOIN @{_groups} g ON g.relay_group = n.relay_group
LEFT JOIN LATERAL (
    (SELECT e.created_at, e.seq
     FROM (SELECT pg_snapshot_xip(n.target) UNION SELECT pg_snapshot_xip(n.prev)) AS u(x)
     CROSS JOIN LATERAL (SELECT o.created_at, o.seq FROM @{} o
                         WHERE (o.xid, o.seq) > (u.x, CASE WHEN pg_visible_in_snapshot(u.x, n.target) THEN n.last ELSE 0 END)
                           AND (o.xid, o.seq) <= (u.x, 9223372036854775807)
                           AND (NOT pg_visible_in_snapshot(u.x, n.target) OR o.shard % n.slots = n.slot)
                         ORDER BY o.xid, o.seq LIMIT 1) e
     ORDER BY e.created_at LIMIT 1)
    UNION ALL
    (SELECT o.created_at, o.seq
     FROM @{} o
     WHERE o.seq > n.next_floor AND NOT pg_visible_in_snapshot(o.xid, n.target)
     ORDER BY o.seq LIMIT 1)
    UNION ALL
    (SELECT w.created_at, w.seq
     FROM (SELECT * FROM @{} o WHERE o.seq > greatest(n.last, n.floor) ORDER BY o.seq LIMIT 1000) w
     WHERE pg_visible_in_snapshot(w.xid, n.target) AND NOT pg_visible_in_snapshot(w.xid, n.prev)
       AND w.shard % n.slots = n.slot
       AND (g.topics IS NULL OR EXISTS (
           SELECT FROM pg_catalog.unnest(g.topics) AS t(pattern)
           WHERE w.topic LIKE replace(replace(replace(replace(pattern, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%')))
     ORDER BY w.seq LIMIT 1)
) x ON true
GROUP BY n.relay_group
ORDER BY n.relay_group
