-- Runs before rows are adopted and lose their transaction ids by it: positions of other groups
-- that belong to a cluster other than $2 are expressed by number. Each settles what lies below
-- the first row that is not settled, by the rule of rebase_judge.sql. They stay refused until
-- they are rebased, too.
WITH n AS MATERIALIZED (
    SELECT DISTINCT ON (p.relay_group, p.slot) p.*, greatest(p.source_floor, p.last) AS upto, coalesce(g.slots, 1::smallint) AS of
    FROM @{_positions} p LEFT JOIN @{_groups} g ON g.relay_group = p.relay_group
    WHERE p.relay_group <> $1 AND p.system_identifier <> $2
    ORDER BY p.relay_group, p.slot, p.window_no DESC
), f AS MATERIALIZED (
    SELECT n.relay_group, n.slot, n.window_no, n.upto,
           (SELECT min(o.seq) FROM @{} o
            WHERE o.shard % n.of = n.slot
              AND NOT ((pg_visible_in_snapshot(o.xid, n.prev) OR pg_visible_in_snapshot(o.xid, n.target) AND o.seq <= n.last)
                       AND o.seq <= n.upto AND o.created_at <= n.opened_at)) AS seq
    FROM n
    WHERE EXISTS (SELECT FROM @{} o
                  WHERE o.xid >= pg_snapshot_xmin(pg_current_snapshot()) AND NOT pg_visible_in_snapshot(o.xid, pg_current_snapshot()))
)
UPDATE @{_positions} p
SET prev = '3:3:', target = '9223372036854775807:9223372036854775807:', last = coalesce(f.seq - 1, f.upto)
FROM f
WHERE p.relay_group = f.relay_group AND p.slot = f.slot AND p.window_no = f.window_no
