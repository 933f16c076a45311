-- $2 is what is paused. Returns no row if the group does not exist.
INSERT INTO @{_groups} AS g (relay_group, paused)
SELECT $1, nullif($2::text[], '{}')
WHERE EXISTS (SELECT FROM @{_groups} WHERE relay_group = $1) OR EXISTS (SELECT FROM @{_leases} WHERE relay_group = $1)
ON CONFLICT (relay_group) DO UPDATE SET paused = EXCLUDED.paused
RETURNING relay_group
