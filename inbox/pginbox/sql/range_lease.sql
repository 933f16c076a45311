-- $1 owner, $2 milliseconds; no row while another one works.
UPDATE @{_retention}
SET owner = $1, lease_from = clock_timestamp() - $2::bigint::float8 * interval '1 millisecond',
    lease_until = clock_timestamp() + $2::bigint::float8 * interval '1 millisecond'
WHERE owner = $1 OR clock_timestamp() NOT BETWEEN lease_from AND lease_until
