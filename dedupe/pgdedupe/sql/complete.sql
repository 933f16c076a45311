-- A record that is gone is created again, with attempt 0 to show it. No row: another token has
-- the record, and finished.sql finds out whether that one is done. $6 is the process's clock,
-- see claim.sql.
INSERT INTO @{} AS d (consumer, id, state, token, attempt, fingerprint, lease_until, expires_at, result)
VALUES ($1, $2, 'd', $3, 0, '', clock_timestamp(),
        greatest(clock_timestamp(), $6::timestamptz) + $4::bigint::float8 * interval '1 microsecond', $5)
ON CONFLICT (consumer, id) DO UPDATE
SET state = 'd', token = $3, expires_at = EXCLUDED.expires_at,
    result = CASE WHEN d.state = 'd' AND d.expires_at > least(clock_timestamp(), $6::timestamptz) THEN d.result ELSE $5 END,
    attempt = CASE WHEN d.expires_at <= least(clock_timestamp(), $6::timestamptz) THEN 0 ELSE greatest(d.attempt, 1) END,
    took_over = d.state = 'f'
WHERE d.expires_at <= least(clock_timestamp(), $6::timestamptz) OR d.state = 'f' OR d.token = $3
RETURNING attempt, took_over
