-- $5 is the process's clock, see claim.sql.
UPDATE @{}
SET lease = $4::bigint, lease_until = clock_timestamp() + $4::bigint::float8 * interval '1 microsecond',
    expires_at = greatest(expires_at, greatest(clock_timestamp(), $5::timestamptz) + $4::bigint::float8 * interval '1 microsecond')
WHERE consumer = $1 AND id = $2 AND token = $3 AND state = 'p' AND expires_at > least(clock_timestamp(), $5::timestamptz)
