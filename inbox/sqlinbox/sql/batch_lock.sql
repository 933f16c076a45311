-- Locks those of the buckets that no other transaction has locked, and returns their floors.
-- With a much longer list, the plan would be a scan, which locks all buckets. On another server than the
-- first two parameters say, if anything, it finds none.
SELECT bucket, floor FROM @{_locks} WHERE (? = x'' OR @{server} = ?) AND bucket IN ({list}) ORDER BY bucket LIMIT 9223372036854775807 @{skip_locked}
