-- Takes the record where there is none, it was released or its lease ran out;
-- the same token takes it again. No row: look.sql says why. What it becomes goes by
-- one reading of the clock, when the row is locked: between two its lease may end.
INSERT INTO @{} AS d (consumer, id, state, token, attempt, fingerprint, lease_until, expires_at)
VALUES ($1, $2, 'p', $3, 1, $4, clock_timestamp() + $5::bigint::float8 * interval '1 microsecond',
        clock_timestamp() + greatest($5::bigint, $6::bigint)::float8 * interval '1 microsecond')
ON CONFLICT (consumer, id) DO UPDATE
SET state = 'p', token = $3, expires_at = greatest(d.expires_at, EXCLUDED.expires_at), result = NULL,
    (attempt, took_over, fingerprint, lease_until) = (
      SELECT CASE WHEN d.expires_at <= now THEN 1 WHEN held THEN d.attempt ELSE d.attempt + 1 END,
        CASE WHEN held THEN d.took_over ELSE d.state = 'p' AND d.expires_at > now END,
        CASE WHEN d.expires_at <= now OR d.fingerprint = '' THEN $4 ELSE d.fingerprint END,
        CASE WHEN held THEN d.lease_until ELSE EXCLUDED.lease_until END
      FROM (SELECT clock_timestamp() AS now) t, LATERAL (SELECT d.state = 'p' AND d.token = $3 AND d.lease_until > now AS held) h)
WHERE d.expires_at <= clock_timestamp()
   OR (d.state <> 'd' AND (d.state = 'f' OR d.lease_until <= clock_timestamp() OR d.token = $3)
       AND (d.fingerprint = '' OR $4 = '' OR d.fingerprint = $4))
RETURNING attempt, took_over
