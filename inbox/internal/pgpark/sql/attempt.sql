-- Counts an attempt, unless the message was processed, is in progress, or is to
-- wait behind a parked one. Runs in autocommit, so that the lock is released at
-- once: the claim that follows takes it again.
-- $1 consumer, $2 id, $3 lock, $4 hash of the key or NULL, $5 key, $6
-- synchronous_commit of this transaction or NULL.
-- See rule B5 and design 13.1.
WITH s AS MATERIALIZED (
  SELECT set_config('synchronous_commit', coalesce($6::text, current_setting('synchronous_commit')), true)),
l AS MATERIALIZED (
  SELECT pg_try_advisory_xact_lock($3::bigint) AS ok,
    EXISTS (SELECT FROM @{_parked} WHERE consumer = $1::smallint AND key_hash = $4::bigint AND key = $5::bytea) AS parked
  FROM s),
i AS (
  INSERT INTO @{_attempts} AS a (consumer, id)
  SELECT $1::smallint, $2::uuid FROM l
  WHERE ok AND NOT parked AND NOT EXISTS (SELECT FROM @{} WHERE consumer = $1::smallint AND id = $2::uuid)
  ON CONFLICT (consumer, id) DO UPDATE SET attempts = a.attempts + 1, last_at = clock_timestamp()
  RETURNING attempts)
SELECT coalesce((SELECT attempts FROM i), 0), parked FROM l
