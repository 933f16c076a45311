-- $2 in µs, NULL: none. Returns no row if the group does not exist.
INSERT INTO @{_groups} AS g (relay_group, max_lag)
SELECT $1, $2::bigint::float8 * interval '1 microsecond'
WHERE EXISTS (SELECT FROM @{_groups} WHERE relay_group = $1) OR EXISTS (SELECT FROM @{_leases} WHERE relay_group = $1)
ON CONFLICT (relay_group) DO UPDATE SET max_lag = EXCLUDED.max_lag
RETURNING relay_group
