-- Window 0 of a new group. Snapshot $3 sees all that the forwarder has finished. $4 sees in
-- addition the transaction at which it stands, whose rows up to $5 it has sent.
INSERT INTO @{_positions}
    (relay_group, slot, window_no, prev, target, floor, next_floor, source_floor, last, owner, epoch, system_identifier)
SELECT $1, $2, 0, $3::pg_snapshot, $4::pg_snapshot, 0, 0, 0, $5, l.owner, l.epoch, $8
FROM @{_leases} l
WHERE l.relay_group = $1 AND l.slot = $2 AND l.owner = $6 AND l.epoch = $7
ON CONFLICT DO NOTHING
