-- Which groups have not settled all of a range: rows that are in no window yet, and rows of the
-- newest window past its last. By the index on (xid, seq): whatever a snapshot misses is at or
-- above its xmin. See rule R8 and design 10.4.
SELECT n.relay_group, bool_or(
    EXISTS (SELECT FROM {range} o
            WHERE o.xid >= pg_snapshot_xmin(n.target) AND NOT pg_visible_in_snapshot(o.xid, n.target))
    OR n.last < (SELECT max(o.seq) FROM {range} o)
       AND EXISTS (SELECT FROM {range} o
                   WHERE o.xid >= pg_snapshot_xmin(n.prev) AND NOT pg_visible_in_snapshot(o.xid, n.prev)
                     AND o.seq > n.last AND o.shard % n.slots = n.slot))
FROM newest n
WHERE @{primary}
GROUP BY n.relay_group
