-- As attempt.sql, for an id of the ranges. It is planned for its values: with
-- parameters the server may keep a plan for all values, which locks all ranges.
WITH s AS MATERIALIZED (
  SELECT set_config('synchronous_commit', coalesce($6::text, current_setting('synchronous_commit')), true)),
l AS MATERIALIZED (
  SELECT pg_try_advisory_xact_lock($3::bigint) AS ok,
    EXISTS (SELECT FROM @{_parked} WHERE consumer = $1::smallint AND key_hash = $4::bigint AND key = $5::bytea) AS parked
  FROM s),
i AS (
  INSERT INTO @{_attempts} AS a (consumer, id)
  SELECT $1::smallint, $2::uuid FROM l
  WHERE ok AND NOT parked AND NOT EXISTS (SELECT FROM @{_ranges} WHERE consumer = $1::smallint AND id = $2::uuid)
  ON CONFLICT (consumer, id) DO UPDATE SET attempts = a.attempts + 1, last_at = clock_timestamp()
  RETURNING attempts)
SELECT coalesce((SELECT attempts FROM i), 0), parked FROM l
