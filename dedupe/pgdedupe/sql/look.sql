-- A lease with more time left than its full length was given by a clock that was ahead: it begins again.
WITH again AS (
    UPDATE @{} SET lease_until = clock_timestamp() + lease::float8 * interval '1 microsecond'
    WHERE consumer = $1 AND id = $2 AND state = 'p' AND lease_until > clock_timestamp() + lease::float8 * interval '1 microsecond'
)
SELECT state, greatest(attempt, 1), fingerprint <> '' AND $3 <> '' AND fingerprint <> $3,
       greatest(1, least(lease, ceil(extract(epoch FROM lease_until - clock_timestamp()) * 1000000.0)))::bigint, result, token = $4
FROM @{}
WHERE consumer = $1 AND id = $2 AND @{primary}
