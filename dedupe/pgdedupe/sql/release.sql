UPDATE @{}
SET state = 'f', expires_at = greatest(clock_timestamp(), $5::timestamptz) + $4::bigint::float8 * interval '1 microsecond'
WHERE consumer = $1 AND id = $2 AND token = $3 AND state = 'p'
