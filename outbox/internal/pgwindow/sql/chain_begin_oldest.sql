-- Window 0 of every slot of a new group: empty, and all that is retained lies
-- ahead. $4 is the sequence's value, read before this statement was sent.
WITH noted AS (
    UPDATE @{_groups} SET from_oldest = true
    WHERE relay_group = $1 AND NOT EXISTS (SELECT FROM @{_positions} p WHERE p.relay_group = $1)
)
INSERT INTO @{_positions}
    (relay_group, slot, window_no, prev, target, floor, next_floor, source_floor, last, owner, epoch, system_identifier, slots)
SELECT g.relay_group, s.no, 0, '3:3:', '3:3:', 0, 0, $4::bigint, 0, $2, 0, $3::bigint, g.slots
FROM @{_groups} g CROSS JOIN generate_series(0, g.slots - 1) AS s(no)
WHERE g.relay_group = $1
  AND NOT EXISTS (SELECT FROM @{_positions} p WHERE p.relay_group = $1)
ON CONFLICT DO NOTHING
