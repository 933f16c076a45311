-- Lists group $1. One that has a position and was never listed has one slot.
INSERT INTO @{_groups} (relay_group, slots, topics)
SELECT $1, CASE WHEN EXISTS (SELECT FROM @{_positions} p WHERE p.relay_group = $1) THEN 1 ELSE $2::smallint END, $3::text[]
ON CONFLICT (relay_group) DO NOTHING
