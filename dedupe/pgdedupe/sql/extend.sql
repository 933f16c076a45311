UPDATE @{}
SET lease_until = clock_timestamp() + $4::bigint::float8 * interval '1 microsecond',
    expires_at = greatest(expires_at, clock_timestamp() + $4::bigint::float8 * interval '1 microsecond')
WHERE consumer = $1 AND id = $2 AND token = $3 AND state = 'p' AND expires_at > clock_timestamp()
