-- As begin_now, and beside it window 0 holds what this statement's snapshot sees
-- from the first record on that was written at $6 or later. The price is a walk of
-- the records since then, which the group is about to read anyway: they are found
-- by the BRIN on created_at; written as min(seq), the log would be walked from its
-- start.
WITH first AS MATERIALIZED (
    SELECT min(o.seq + 0) AS seq FROM @{} o WHERE o.created_at >= $6::timestamptz
)
INSERT INTO @{_positions}
    (relay_group, slot, window_no, prev, target, floor, next_floor, source_floor, last, owner, epoch, system_identifier, slots)
SELECT g.relay_group, s.no, 0, CASE WHEN first.seq IS NULL THEN pg_current_snapshot() ELSE '3:3:' END, pg_current_snapshot(),
       0, $4::bigint, $5::bigint, coalesce(first.seq, 1) - 1, $2, 0, $3::bigint, g.slots
FROM @{_groups} g CROSS JOIN generate_series(0, g.slots - 1) AS s(no) CROSS JOIN first
WHERE g.relay_group = $1
  AND NOT EXISTS (SELECT FROM @{_positions} p WHERE p.relay_group = $1)
ON CONFLICT DO NOTHING
