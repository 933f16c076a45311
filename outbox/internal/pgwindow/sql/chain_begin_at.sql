-- As chain_begin_now.sql, except that window 0 holds what this statement's snapshot sees from
-- the first record on that was written at $6 or later and has a number above $7, below which
-- all are older. A walk of the primary key that stops at the first hit; without the fence
-- (OFFSET), all records since then could be read and sorted.
WITH first AS MATERIALIZED (
    SELECT (SELECT w.seq
            FROM (SELECT o.seq, o.created_at FROM @{} o WHERE o.seq > $7::bigint ORDER BY o.seq OFFSET 0) w
            WHERE w.created_at >= $6::timestamptz
            ORDER BY w.seq
            LIMIT 1) AS seq
)
INSERT INTO @{_positions}
    (relay_group, slot, window_no, prev, target, floor, next_floor, source_floor, last, owner, epoch, system_identifier, slots)
SELECT g.relay_group, s.no, 0, CASE WHEN first.seq IS NULL THEN pg_current_snapshot() ELSE '3:3:' END, pg_current_snapshot(),
       0, $4::bigint, $5::bigint, coalesce(first.seq, 1) - 1, $2, 0, $3::bigint, g.slots
FROM @{_groups} g CROSS JOIN generate_series(0, g.slots - 1) AS s(no) CROSS JOIN first
WHERE g.relay_group = $1
  AND NOT EXISTS (SELECT FROM @{_positions} p WHERE p.relay_group = $1)
ON CONFLICT DO NOTHING
