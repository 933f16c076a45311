-- The newest position of every slot of every group, as two common tables
-- that other statements begin with. A slot that is listed and has no position yet has
-- settled nothing. Groups whose names begin with _ are reserved and read nothing.
WITH slots AS MATERIALIZED (
    SELECT g.relay_group, s.slot::smallint AS slot
    FROM @{_groups} g, generate_series(0, g.slots - 1) AS s(slot)
    WHERE NOT starts_with(g.relay_group, '_')
    UNION
    SELECT p.relay_group, p.slot
    FROM @{_positions} p
    WHERE NOT starts_with(p.relay_group, '_')
      AND NOT EXISTS (SELECT FROM @{_groups} g WHERE g.relay_group = p.relay_group)
), newest AS MATERIALIZED (
    SELECT s.relay_group, s.slot, coalesce(p.prev, '3:3:') AS prev, coalesce(p.target, '3:3:') AS target,
           coalesce(p.last, 0) AS last, coalesce(p.floor, 0) AS floor,
           coalesce(p.next_floor, 0) AS next_floor, coalesce(p.slots, 1) AS slots
    FROM slots s
    LEFT JOIN LATERAL (SELECT * FROM @{_positions} p
                       WHERE p.relay_group = s.relay_group AND p.slot = s.slot
                       ORDER BY p.window_no DESC LIMIT 1) p ON true
)
