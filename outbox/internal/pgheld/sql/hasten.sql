-- Makes records due whose retry is more than $2 µs away: that time was set by a clock that was
-- ahead.
UPDATE @{_held} SET next_at = clock_timestamp()
WHERE relay_group = $1 AND state = 'retry' AND state <> 'wait' AND next_at > clock_timestamp() + $2::bigint::float8 * interval '1 microsecond'
  AND shard % $3::smallint = $4::smallint
