-- Those of the buckets that nobody holds, with their floors. The plan of a list much longer
-- than this would be a scan, which locks all of them.
SELECT bucket, floor FROM @{_locks} WHERE bucket IN ({list}) ORDER BY bucket LIMIT 9223372036854775807 @{skip_locked}
