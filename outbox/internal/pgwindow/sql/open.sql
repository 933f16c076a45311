-- Finishes window $3 and opens the next: one row, one xid. The target is this
-- statement's snapshot, taken before its own xid is drawn. $4 is the sequence's
-- value from the probe before it: a parameter, since an expression here would be
-- computed after the xid. Compare-and-set on the lease and on the window.
-- See rule R3.
WITH old AS (
    DELETE FROM @{_positions} WHERE relay_group = $1 AND slot = $2 AND window_no = $3::bigint - 64
)
INSERT INTO @{_positions}
    (relay_group, slot, window_no, prev, target, floor, next_floor, source_floor, last, owner, epoch, system_identifier)
SELECT p.relay_group, p.slot, p.window_no + 1, p.target, pg_current_snapshot(),
       p.next_floor, p.source_floor, $4, 0, l.owner, l.epoch, p.system_identifier
FROM @{_positions} p
JOIN @{_leases} l ON l.relay_group = p.relay_group AND l.slot = p.slot
WHERE p.relay_group = $1 AND p.slot = $2 AND p.window_no = $3 AND l.owner = $5 AND l.epoch = $6
RETURNING window_no, prev::text, target::text, floor, next_floor, source_floor, last, opened_by::text, system_identifier
