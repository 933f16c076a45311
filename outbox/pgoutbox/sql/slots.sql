-- The newest position of every slot of every group, as two common tables
-- that other statements begin with. A slot that is listed and has no position yet has
-- settled nothing, and neither has one whose position relays would refuse (problem):
-- nothing is deleted by it. Groups whose names begin with _ are reserved and read nothing.
-- part of other statements
WITH slots AS MATERIALIZED (
    SELECT g.relay_group, s.slot::smallint AS slot, g.incarnation
    FROM @{_groups} g, generate_series(0, g.slots - 1) AS s(slot)
    WHERE NOT starts_with(g.relay_group, '_')
    UNION
    SELECT p.relay_group, p.slot, NULL
    FROM @{_positions} p
    WHERE NOT starts_with(p.relay_group, '_')
      AND NOT EXISTS (SELECT FROM @{_groups} g WHERE g.relay_group = p.relay_group)
), newest AS MATERIALIZED (
    SELECT s.relay_group, s.slot, p.problem, coalesce(p.prev, '3:3:') AS prev, coalesce(p.target, '3:3:') AS target,
           coalesce(p.last, 0) AS last, coalesce(p.floor, 0) AS floor,
           coalesce(p.next_floor, 0) AS next_floor, coalesce(p.slots, 1) AS slots
    FROM slots s
    LEFT JOIN LATERAL (
        SELECT w.problem, n.slots,
               CASE WHEN w.problem IS NULL THEN n.prev END AS prev,
               CASE WHEN w.problem IS NULL THEN n.target END AS target,
               CASE WHEN w.problem IS NULL THEN n.last END AS last,
               CASE WHEN w.problem IS NULL THEN n.floor END AS floor,
               CASE WHEN w.problem IS NULL THEN n.next_floor END AS next_floor
        FROM (SELECT * FROM @{_positions} p
              WHERE p.relay_group = s.relay_group AND p.slot = s.slot
              ORDER BY p.window_no DESC LIMIT 1) n
        CROSS JOIN LATERAL (
              SELECT coalesce(@{_problem}(n.system_identifier, s.incarnation, n.source_floor),
                     CASE WHEN EXISTS (
                          SELECT FROM (SELECT o.xid, o.seq FROM @{} o WHERE o.seq <= n.source_floor ORDER BY o.seq DESC LIMIT 100) r
                          WHERE r.xid > n.opened_by OR r.seq <= n.next_floor AND r.xid >= pg_snapshot_xmax(n.target))
                     THEN 'the log has given out numbers again that the stored position has passed' END) AS problem
              OFFSET 0) w) p ON true
)
