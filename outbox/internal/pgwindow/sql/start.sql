-- Window 0 of a new group: it is empty, and all that is retained lies ahead.
-- $3 is the sequence's value, read before this statement was sent.
INSERT INTO @{_positions}
    (relay_group, slot, window_no, prev, target, floor, next_floor, source_floor, last, owner, epoch, system_identifier)
SELECT $1, $2, 0, '3:3:', '3:3:', 0, 0, $3, 0, l.owner, l.epoch, $6
FROM @{_leases} l
WHERE l.relay_group = $1 AND l.slot = $2 AND l.owner = $4 AND l.epoch = $5
ON CONFLICT DO NOTHING
