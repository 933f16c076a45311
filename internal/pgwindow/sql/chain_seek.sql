-- Stores a window that the slot had come to and the server has forgotten, after
-- window $3, its newest. Compare-and-set as everywhere. Where the slots share their
-- windows, it leads if its number is free, and must be the same as the one that
-- leads otherwise.
INSERT INTO @{_positions}
    (relay_group, slot, window_no, prev, target, floor, next_floor, source_floor, last, opened_by,
     owner, epoch, system_identifier, leads, slots)
SELECT p.relay_group, p.slot, $6, $7::text::pg_snapshot, $8::text::pg_snapshot, $9, $10, $11, $12, $13::text::xid8,
       $4, $5, p.system_identifier, g.slots > 1 AND a.target IS NULL, p.slots
FROM @{_positions} p
JOIN @{_leases} l ON l.relay_group = p.relay_group AND l.slot = p.slot
JOIN @{_groups} g ON g.relay_group = p.relay_group AND g.slots = p.slots AND g.next_slots IS NULL
LEFT JOIN @{_positions} a ON a.relay_group = p.relay_group AND a.window_no = $6 AND a.leads
WHERE p.relay_group = $1 AND p.slot = $2 AND p.window_no = $3 AND l.owner = $4 AND l.epoch = $5
  AND (a.target IS NULL OR a.target::text = $8::text)
  AND pg_snapshot_xmax($8::text::pg_snapshot) <= pg_snapshot_xmax(pg_current_snapshot())
  AND $13::text::xid8 < pg_snapshot_xmax(pg_current_snapshot())
RETURNING window_no, prev::text, target::text, floor, next_floor, source_floor, last, opened_by::text,
          system_identifier, slots, leads
