-- $6 is the process's clock: a response has expired once it and the database's are past its end.
-- No row: there is a response now that was not visible when the request began, which is possible
-- at repeatable read. Then nothing commits.
INSERT INTO @{} AS t (consumer, id, fingerprint, response, expires_at)
VALUES ($1, $2, $3, $4, greatest(clock_timestamp(), $6::timestamptz) + $5::bigint::float8 * interval '1 microsecond')
ON CONFLICT (consumer, id) DO UPDATE
SET fingerprint = EXCLUDED.fingerprint, response = EXCLUDED.response, created_at = EXCLUDED.created_at, expires_at = EXCLUDED.expires_at
WHERE t.expires_at <= least(clock_timestamp(), $6::timestamptz)
