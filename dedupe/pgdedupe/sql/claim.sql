-- Takes the record where there is none, it was released or its lease ran out;
-- the same token takes it again. No row: look.sql says why.
INSERT INTO @{} AS d (consumer, id, state, token, attempt, fingerprint, lease_until, expires_at)
VALUES ($1, $2, 'p', $3, 1, $4, clock_timestamp() + $5::bigint * interval '1 microsecond',
        clock_timestamp() + greatest($5::bigint, $6::bigint) * interval '1 microsecond')
ON CONFLICT (consumer, id) DO UPDATE
SET state = 'p', token = $3,
    attempt = CASE WHEN d.expires_at <= clock_timestamp() THEN 1
                   WHEN d.state = 'p' AND d.token = $3 AND d.lease_until > clock_timestamp() THEN d.attempt
                   ELSE d.attempt + 1 END,
    took_over = CASE WHEN d.state = 'p' AND d.token = $3 AND d.lease_until > clock_timestamp() THEN d.took_over
                     ELSE d.state = 'p' AND d.expires_at > clock_timestamp() END,
    fingerprint = CASE WHEN d.expires_at <= clock_timestamp() OR d.fingerprint = '' THEN $4 ELSE d.fingerprint END,
    lease_until = CASE WHEN d.state = 'p' AND d.token = $3 AND d.lease_until > clock_timestamp() THEN d.lease_until
                       ELSE EXCLUDED.lease_until END,
    expires_at = greatest(d.expires_at, EXCLUDED.expires_at), result = NULL
WHERE d.expires_at <= clock_timestamp()
   OR (d.state <> 'd' AND (d.state = 'f' OR d.lease_until <= clock_timestamp() OR d.token = $3)
       AND (d.fingerprint = '' OR $4 = '' OR d.fingerprint = $4))
RETURNING attempt, took_over
