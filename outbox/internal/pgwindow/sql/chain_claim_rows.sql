INSERT INTO @{_leases} (relay_group, slot)
SELECT g.relay_group, s.no
FROM @{_groups} g CROSS JOIN generate_series(0, g.slots - 1) AS s(no)
WHERE g.relay_group = $1
ON CONFLICT DO NOTHING
