-- The age of each group's oldest unsettled message, about: the first in the order of
-- (xid, seq), which an index has, so that one row is read a slot.
SELECT n.relay_group,
       (extract(epoch FROM statement_timestamp() - min(x.created_at)) * 1000000)::bigint AS lag,
       (extract(epoch FROM min(g.max_lag)) * 1000000)::bigint AS max_lag
FROM newest n
LEFT JOIN @{_groups} g ON g.relay_group = n.relay_group
LEFT JOIN LATERAL (
    SELECT o.created_at
    FROM @{} o
    WHERE o.xid >= pg_snapshot_xmin(n.prev)
      AND NOT pg_visible_in_snapshot(o.xid, n.prev)
      AND NOT (pg_visible_in_snapshot(o.xid, n.target) AND (o.seq <= n.last OR o.shard % n.slots <> n.slot))
    ORDER BY o.xid, o.seq
    LIMIT 1
) x ON true
GROUP BY n.relay_group
ORDER BY n.relay_group
