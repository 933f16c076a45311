-- Takes the record if there is none yet, if it was released or if its lease has run out; the same token can take it
-- again. No row: look.sql finds out why. The new state is decided by one reading of the clock, while the row is
-- locked: between two readings the lease may end. A record has expired once this clock and $7, that of the process,
-- are past its end, which is stored as the later by both.
INSERT INTO @{} AS d (consumer, id, state, token, attempt, fingerprint, lease, lease_until, expires_at)
VALUES ($1, $2, 'p', $3, 1, $4, $5::bigint, clock_timestamp() + $5::bigint::float8 * interval '1 microsecond',
        greatest(clock_timestamp(), $7::timestamptz) + greatest($5::bigint, $6::bigint)::float8 * interval '1 microsecond')
ON CONFLICT (consumer, id) DO UPDATE
SET state = 'p', token = $3, expires_at = greatest(d.expires_at, EXCLUDED.expires_at), result = NULL,
    (attempt, took_over, fingerprint, lease, lease_until) = (
      SELECT CASE WHEN over THEN 1 WHEN held THEN d.attempt ELSE d.attempt + 1 END,
        CASE WHEN held THEN d.took_over ELSE d.state = 'p' AND NOT over END,
        CASE WHEN over OR d.fingerprint = '' THEN $4 ELSE d.fingerprint END,
        CASE WHEN held THEN d.lease ELSE EXCLUDED.lease END,
        CASE WHEN held THEN d.lease_until ELSE EXCLUDED.lease_until END
      FROM (SELECT clock_timestamp() AS now) t,
           LATERAL (SELECT d.state = 'p' AND d.token = $3 AND d.lease_until > now AS held, d.expires_at <= least(now, $7::timestamptz) AS over) h)
WHERE d.expires_at <= least(clock_timestamp(), $7::timestamptz)
   OR (d.state <> 'd' AND (d.state = 'f' OR d.lease_until <= clock_timestamp() OR d.token = $3)
       AND (d.fingerprint = '' OR $4 = '' OR d.fingerprint = $4))
RETURNING attempt, took_over
