-- See design 2.6.
UPDATE @{_leases}
SET lease_from = clock_timestamp() - $5::bigint::float8 * interval '1 microsecond',
    lease_until = clock_timestamp() + $5::bigint::float8 * interval '1 microsecond'
WHERE relay_group = $1 AND slot = $2 AND owner = $3 AND epoch = $4
