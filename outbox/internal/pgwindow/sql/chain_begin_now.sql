-- Window 0 of every slot of a new group that starts now: empty, and all that this
-- statement's snapshot does not see lies ahead. Before it was sent: $4, the
-- sequence's value, was read; a transaction with an xid was committed; $5, the
-- sequence's value, was read.
INSERT INTO @{_positions}
    (relay_group, slot, window_no, prev, target, floor, next_floor, source_floor, last, owner, epoch, system_identifier, slots)
SELECT g.relay_group, s.no, 0, pg_current_snapshot(), pg_current_snapshot(), $4::bigint, $4::bigint, $5::bigint, 0,
       $2, 0, $3::bigint, g.slots
FROM @{_groups} g CROSS JOIN generate_series(0, g.slots - 1) AS s(no)
WHERE g.relay_group = $1
  AND NOT EXISTS (SELECT FROM @{_positions} p WHERE p.relay_group = $1)
ON CONFLICT DO NOTHING
