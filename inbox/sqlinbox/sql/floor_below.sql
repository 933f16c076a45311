-- Some of the buckets whose floor is lower, and which no delivery is using. Parameters: last
-- bucket of the page before, number of buckets, floor.
SELECT bucket FROM @{_locks} WHERE bucket > ? AND bucket < ? AND floor < ? ORDER BY bucket LIMIT 64 @{skip_locked}
