-- As claim.sql, where rows below the floor are deleted one by one: an id below it
-- may have been forgotten, so it is not claimed.
INSERT INTO @{_ranges} (consumer, id)
SELECT $1::smallint, $2::uuid
WHERE current_setting('synchronous_commit') <> 'off'
  AND $2::uuid >= (SELECT floor FROM @{_retention}) AND pg_try_advisory_xact_lock($3::bigint)
ON CONFLICT DO NOTHING
