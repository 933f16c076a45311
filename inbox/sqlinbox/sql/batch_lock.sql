-- Locks those of the buckets that no other transaction has locked, and returns their floors.
-- With a much longer list, the plan would be a scan, which locks all buckets.
SELECT bucket, floor FROM @{_locks} WHERE bucket IN ({list}) ORDER BY bucket LIMIT 9223372036854775807 @{skip_locked}
