-- Finishes window $3 and opens the next: one row, one xid. The target is this
-- statement's snapshot, taken before its own xid is drawn. $4 is the sequence's
-- value from the probe before it: a parameter, since an expression here would be
-- computed after the xid. Compare-and-set on the lease and on the window. {back} is the
-- statement of that name, in the snapshot of the new target; false for a log without floors.
-- See rule R3.
WITH old AS (
    DELETE FROM @{_positions} WHERE relay_group = $1 AND slot = $2 AND window_no = $3::bigint - 64
)
INSERT INTO @{_positions}
    (relay_group, slot, window_no, prev, target, floor, next_floor, source_floor, last, owner, epoch, system_identifier)
SELECT own.relay_group, own.slot, own.window_no + 1, own.target, pg_current_snapshot(),
       own.next_floor, own.source_floor, $4, 0, l.owner, l.epoch, own.system_identifier
FROM @{_positions} own
JOIN @{_leases} l ON l.relay_group = own.relay_group AND l.slot = own.slot
WHERE own.relay_group = $1 AND own.slot = $2 AND own.window_no = $3 AND l.owner = $5 AND l.epoch = $6
  AND NOT {back}
RETURNING window_no, prev::text, target::text, floor, next_floor, source_floor, last, opened_by::text, system_identifier
