SELECT state, greatest(attempt, 1), fingerprint <> '' AND $3 <> '' AND fingerprint <> $3,
       greatest(1, ceil(extract(epoch FROM lease_until - clock_timestamp()) * 1000000.0))::bigint, result, token = $4
FROM @{}
WHERE consumer = $1 AND id = $2 AND @{primary}
